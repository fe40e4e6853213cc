-- Folders, notebooks, dashboards, and the policies on objects.

alter table cluster add column owner_id bigint references membership (id) on delete set null;
create index cluster_by_owner on cluster (owner_id) where owner_id is not null;

-- The changed values, as {before, after}.
alter table audit_event add column detail jsonb;
-- One index for each combination of filters that can select many events: all events of a page are next to each other in
-- it, in the order of their ids. A single index per column would have to skip the events that the other filter
-- excludes.
create index audit_event_by_outcome on audit_event (account_id, outcome, id desc);
create index audit_event_by_operation on audit_event (account_id, operation, outcome, id desc);
create index audit_event_by_user on audit_event (account_id, user_id, outcome, id desc);
create index audit_event_by_user_and_operation on audit_event (account_id, user_id, operation, outcome, id desc);
-- An object can be a list of ids, which is too long for an index. One object has few events, so a filter by operation
-- or user skips the others inside this index.
create index audit_event_by_object on audit_event (account_id, object, outcome, id desc) include (operation, user_id)
  where octet_length(object) <= 1024;
create index audit_event_by_time on audit_event (account_id, at, id);

-- A folder knows only its parent, so a rename or a move changes one row. The roots have no rows: without a parent, a
-- folder lies directly below `Users/<e-mail>` of home_id, or below `Common` if home_id is null too.
create table folder (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  type text not null check (type in ('notes', 'notebook_dashboards')),
  name text not null,
  parent_id bigint references folder (id),
  home_id bigint references membership (id) on delete cascade,
  -- Columns for the indexes: with row-level security, an index on an expression such as coalesce is not used.
  place_parent bigint not null generated always as (coalesce(parent_id, 0)) stored,
  place_home bigint not null generated always as (coalesce(home_id, 0)) stored,
  owner_id bigint references membership (id) on delete set null,
  -- An upper bound of the levels below the folder, so that a move can check their depth without reading them.
  height smallint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (parent_id is null or home_id is null)
);
create unique index folder_place on folder (account_id, type, place_parent, place_home, name);
create index folder_by_account on folder (account_id, type, id);
create index folder_by_parent on folder (parent_id, id) where parent_id is not null;
create index folder_by_home on folder (home_id) where home_id is not null;
create index folder_by_owner on folder (owner_id) where owner_id is not null;

-- A note without a folder lies directly in the root of home_id, or in `Common`. Texts are in note_content, so that
-- lists do not read them.
create table note (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  folder_id bigint references folder (id),
  home_id bigint references membership (id) on delete cascade,
  -- For indexes, as in folder.
  place_folder bigint not null generated always as (coalesce(folder_id, 0)) stored,
  place_home bigint not null generated always as (coalesce(home_id, 0)) stored,
  name text not null,
  note_type text not null,
  label text,
  owner_id bigint references membership (id) on delete set null,
  user_id bigint references app_user (id),
  -- whether it has a row in object_policy
  has_policy boolean not null default false,
  bytes bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default date_trunc('second', now()),
  check (folder_id is null or home_id is null)
);
create unique index note_place on note (account_id, place_folder, place_home, name);
create index note_in_folder on note (account_id, place_folder, place_home, id);
create index note_in_folder_without_policy on note (account_id, place_folder, place_home, id)
  where not has_policy;
create index note_with_policy on note (account_id, place_folder, place_home, id) where has_policy;
create index note_by_folder on note (folder_id) where folder_id is not null;
create index note_by_home on note (home_id) where home_id is not null;
create index note_by_owner on note (owner_id, place_folder, place_home, id)
  where owner_id is not null;
create index note_by_user on note (user_id) where user_id is not null;

-- json, not jsonb: outputs may contain U+0000, and replies contain them as stored.
create table note_content (
  note_id bigint primary key references note (id) on delete cascade,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  paragraphs json not null,
  -- what an imported .ipynb has besides languages and texts
  notebook json
);
create index note_content_by_account on note_content (account_id);

create table dashboard (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  note_id bigint references note (id) on delete set null,
  folder_id bigint references folder (id),
  home_id bigint references membership (id) on delete cascade,
  place_folder bigint not null generated always as (coalesce(folder_id, 0)) stored,
  place_home bigint not null generated always as (coalesce(home_id, 0)) stored,
  name text not null,
  owner_id bigint references membership (id) on delete set null,
  user_id bigint references app_user (id),
  bytes bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (folder_id is null or home_id is null)
);
create unique index dashboard_place on dashboard (account_id, place_folder, place_home, name);
create index dashboard_in_folder on dashboard (account_id, place_folder, place_home, id);
create index dashboard_by_note on dashboard (note_id) where note_id is not null;
create index dashboard_by_folder on dashboard (folder_id) where folder_id is not null;
create index dashboard_by_home on dashboard (home_id) where home_id is not null;
create index dashboard_by_owner on dashboard (owner_id, place_folder, place_home, id)
  where owner_id is not null;
create index dashboard_by_user on dashboard (user_id) where user_id is not null;

create table dashboard_content (
  dashboard_id bigint primary key references dashboard (id) on delete cascade,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  paragraphs json not null,
  notebook json
);
create index dashboard_content_by_account on dashboard_content (account_id);

-- A policy as it was set. The sources of roots are `notes_root` and `notebook_dashboards_root`, with the membership of
-- the home as id, or 0 for `Common`. Sources are rows of several tables, so the operation that deletes an object
-- deletes its policy too.
create table object_policy (
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  source_type text not null check (source_type in
    ('note', 'cluster', 'scheduler', 'environment', 'folder', 'notes_root', 'notebook_dashboards_root')),
  source_id bigint not null,
  elements jsonb not null,
  updated_at timestamptz not null default now(),
  primary key (account_id, source_type, source_id)
);

-- The same policies in the form that lists use: one row per element, action and subject. The largest weight of the rows
-- that match caller and action is the verdict; an odd weight denies (access/policy/rules.ts).
create table policy_rule (
  account_id bigint not null default current_account_id(),
  source_type text not null,
  source_id bigint not null,
  -- 0 everyone, 1 a group, 2 a user
  kind smallint not null check (kind between 0 and 2),
  -- a group or a membership; 0 for everyone
  subject_id bigint not null,
  action text not null,
  weight smallint not null,
  primary key (account_id, source_type, source_id, kind, subject_id, action, weight),
  foreign key (account_id, source_type, source_id) references object_policy on delete cascade
);
create index policy_rule_by_subject on policy_rule (account_id, source_type, kind, subject_id, action)
  include (source_id, weight);

-- The member of the current account with an e-mail address. It runs as the owner, because row-level security would
-- prevent the use of the index on lower(email).
create function member_with_email(given text)
  returns table (membership_id bigint, email text)
  language sql stable security definer set search_path = pg_catalog, pg_temp
  as $$
    select m.id, u.email from public.app_user u join public.membership m on m.user_id = u.id
     where lower(u.email) = lower(given) and m.account_id = public.current_account_id()
  $$;
revoke execute on function member_with_email from public;
grant execute on function member_with_email to headgate_account;

-- The folders from each given one up to its root; depth 0 is the given folder. Folders are at most 32 deep: the limit
-- of 64 only stops an endless walk in a damaged tree.
create function folder_chain(ids bigint[])
  returns table (start_id bigint, folder_id bigint, parent_id bigint, home_id bigint, depth integer)
  language sql stable parallel safe
  as $$
    with recursive walk as (
      select f.id as start_id, f.id as folder_id, f.parent_id, f.home_id, 0 as depth
        from folder f where f.id = any (ids)
      union all
      select w.start_id, f.id, f.parent_id, f.home_id, w.depth + 1
        from walk w join folder f on f.id = w.parent_id
       where w.depth < 64)
    select walk.start_id, walk.folder_id, walk.parent_id, walk.home_id, walk.depth from walk
  $$;

alter table folder enable row level security;
create policy own_account on folder to headgate_account using (account_id = (select current_account_id()));
alter table note enable row level security;
create policy own_account on note to headgate_account using (account_id = (select current_account_id()));
alter table note_content enable row level security;
create policy own_account on note_content to headgate_account using (account_id = (select current_account_id()));
alter table dashboard enable row level security;
create policy own_account on dashboard to headgate_account using (account_id = (select current_account_id()));
alter table dashboard_content enable row level security;
create policy own_account on dashboard_content to headgate_account using (account_id = (select current_account_id()));
alter table object_policy enable row level security;
create policy own_account on object_policy to headgate_account using (account_id = (select current_account_id()));
alter table policy_rule enable row level security;
create policy own_account on policy_rule to headgate_account using (account_id = (select current_account_id()));

grant select, insert, update, delete on
  folder, note, note_content, dashboard, dashboard_content, object_policy, policy_rule
  to headgate_account;
