-- Accounts, users, groups, roles, tokens, the IP whitelist, audit and idempotency.
--
-- Every table that belongs to an account has account_id, defaulting to the account of the transaction, and a row-level
-- policy for the role headgate_account: without an account in context that role sees nothing and can write nothing.

create function current_account_id() returns bigint
  language sql stable parallel safe
  return nullif(current_setting('headgate.account_id', true), '')::bigint;

create table account (
  id bigint generated always as identity primary key,
  parent_id bigint references account (id) on delete set null,
  name text not null,
  plan text not null default 'free',
  level text not null default 'free',
  compute_type text not null default 'CUSTOMER_MANAGED',
  storage_type text not null default 'CUSTOMER_MANAGED',
  cache_quota_gb bigint not null default 25,
  default_location text,
  storage_endpoint text,
  hdfs_http_address text,
  metastore_uri text,
  refresh_engine text not null default 'native' check (refresh_engine in ('native', 'spark')),
  aws_region text,
  idle_cluster_timeout_hours integer not null default 2,
  idle_cluster_timeout_seconds integer,
  idle_session_timeout_minutes integer not null default 1440,
  -- sealed by the key file, see lib/key-ring.ts
  storage_access_key bytea,
  storage_secret_key bytea,
  compute_access_key bytea,
  compute_secret_key bytea,
  storage_validated boolean not null default false,
  compute_validated boolean not null default false,
  role_arn text,
  external_id text,
  features text[] not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- A person or service, known by e-mail across the installation; belongs to accounts through memberships.
create table app_user (
  id bigint generated always as identity primary key,
  email text not null,
  created_at timestamptz not null default now()
);
create unique index app_user_email on app_user (lower(email));

create table membership (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  user_id bigint not null references app_user (id),
  -- here, not on the user: what one account calls a person is not for another to see
  name text not null,
  state text not null check (state in ('pending', 'active', 'disabled')),
  user_type text not null default 'regular' check (user_type in ('regular', 'service')),
  is_operator boolean not null default false,
  last_login timestamptz,
  created_at timestamptz not null default now(),
  constraint membership_once unique (account_id, user_id)
);
create index membership_by_user on membership (user_id);

create table api_token (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  membership_id bigint not null references membership (id) on delete cascade,
  sha256 bytea not null constraint api_token_sha256 unique,
  -- null: the membership's current token; set: a token that was replaced and lives on for its overlap
  expires_at timestamptz,
  created_at timestamptz not null default now()
);
create index api_token_by_account on api_token (account_id);
create index api_token_expiry on api_token (expires_at) where expires_at is not null;
create unique index api_token_one_current on api_token (membership_id) where expires_at is null;

create table access_group (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  name text not null,
  source text not null default 'custom' check (source in ('system', 'custom')),
  created_at timestamptz not null default now(),
  constraint access_group_name unique (account_id, name)
);

create table access_group_member (
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  group_id bigint not null references access_group (id) on delete cascade,
  membership_id bigint not null references membership (id) on delete cascade,
  primary key (group_id, membership_id)
);
create index access_group_member_by_membership on access_group_member (membership_id);
create index access_group_member_by_account on access_group_member (account_id);

create table access_role (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  name text not null,
  source text not null default 'custom' check (source in ('system', 'custom')),
  -- JSON text of [{resource, action, access}], kept as it is shown
  policy text not null,
  created_at timestamptz not null default now(),
  constraint access_role_name unique (account_id, name)
);

create table access_group_role (
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  group_id bigint not null references access_group (id) on delete cascade,
  role_id bigint not null references access_role (id) on delete cascade,
  primary key (group_id, role_id)
);
create index access_group_role_by_role on access_group_role (role_id);
create index access_group_role_by_account on access_group_role (account_id);

-- Who is in which group: the rows, and every active member in "everyone".
create view effective_group_member with (security_invoker = true) as
  select account_id, group_id, membership_id from access_group_member
  union all
  select m.account_id, g.id, m.id
  from membership m
  join access_group g on g.account_id = m.account_id and g.name = 'everyone'
  where m.state = 'active';

create table invitation (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  email text not null,
  code_sha256 bytea not null constraint invitation_code unique,
  group_ids bigint[] not null,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  created_at timestamptz not null default now()
);
create index invitation_by_account on invitation (account_id);
create index invitation_expiry on invitation (expires_at);

create table whitelisted_ip (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  ip_cidr cidr not null,
  given_text text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint whitelisted_ip_once unique (account_id, ip_cidr)
);

-- "is this address covered?" stays quick however long the list is
create index whitelisted_ip_cover on whitelisted_ip using gist (ip_cidr inet_ops);

create table audit_event (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  at timestamptz not null default now(),
  user_id bigint,
  email text,
  address text,
  operation text not null,
  object text,
  outcome text not null check (outcome in ('done', 'denied')),
  request_id text,
  count integer not null default 1,
  -- denials only: one row a token, operation and minute
  token_id bigint,
  minute timestamptz
);
create index audit_event_by_account on audit_event (account_id, id desc);
create index audit_event_at on audit_event (at);
create unique index audit_event_denial on audit_event (token_id, operation, minute) where outcome = 'denied';

create table idempotency (
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  token_id bigint not null references api_token (id) on delete cascade,
  method text not null,
  path text not null,
  key text not null,
  body_sha256 bytea not null,
  -- sealed: a reply may hold a token
  reply bytea not null,
  created_at timestamptz not null default now(),
  primary key (token_id, method, path, key)
);
create index idempotency_created_at on idempotency (created_at);
create index idempotency_by_account on idempotency (account_id);

alter table account enable row level security;
create policy own_account on account to headgate_account using (id = (select current_account_id()));

alter table app_user enable row level security;
create policy own_account on app_user to headgate_account
  using (exists (select from membership m where m.user_id = app_user.id and m.account_id = (select current_account_id())));

alter table membership enable row level security;
create policy own_account on membership to headgate_account using (account_id = (select current_account_id()));
alter table api_token enable row level security;
create policy own_account on api_token to headgate_account using (account_id = (select current_account_id()));
alter table access_group enable row level security;
create policy own_account on access_group to headgate_account using (account_id = (select current_account_id()));
alter table access_group_member enable row level security;
create policy own_account on access_group_member to headgate_account using (account_id = (select current_account_id()));
alter table access_role enable row level security;
create policy own_account on access_role to headgate_account using (account_id = (select current_account_id()));
alter table access_group_role enable row level security;
create policy own_account on access_group_role to headgate_account using (account_id = (select current_account_id()));
alter table invitation enable row level security;
create policy own_account on invitation to headgate_account using (account_id = (select current_account_id()));
alter table whitelisted_ip enable row level security;
create policy own_account on whitelisted_ip to headgate_account using (account_id = (select current_account_id()));
alter table audit_event enable row level security;
create policy own_account on audit_event to headgate_account using (account_id = (select current_account_id()));
alter table idempotency enable row level security;
create policy own_account on idempotency to headgate_account using (account_id = (select current_account_id()));

grant select, update on account to headgate_account;
grant select on app_user, effective_group_member to headgate_account;
grant select, insert, update, delete on
  membership, api_token, access_group, access_group_member, access_role, access_group_role, invitation, whitelisted_ip
  to headgate_account;
-- append only
grant select, insert on audit_event, idempotency to headgate_account;
