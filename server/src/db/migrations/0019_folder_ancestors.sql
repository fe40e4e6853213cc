-- Folders know all folders above them, so that one join finds the nearest policy. Triggers keep this right, because nodes
-- of an earlier version may still create and move folders. Those also use `folder.height`, `folder_chain` and
-- `note.has_policy`: a later migration drops them.
alter table folder
  -- the folders above it, from the top
  add column ancestors bigint[] not null default '{}',
  -- the membership of the home that it lies in at any depth; 0: it lies in `Common`
  add column root_home bigint not null default 0,
  -- An upper bound that is always right: nodes of an earlier version then count the levels.
  alter column height set default 32;

with recursive tree as (
  select f.id, f.ancestors, f.place_home as root_home from folder f where f.parent_id is null
  union all
  select f.id, t.ancestors || t.id, t.root_home from tree t join folder f on f.parent_id = t.id)
update folder f set ancestors = t.ancestors, root_home = t.root_home, height = 32 from tree t where f.id = t.id;

alter table folder add check (id <> all (ancestors));

-- An import loads folders with their ancestors and in any order, so the row of the parent can be missing.
create function set_ancestors() returns trigger language plpgsql as $$
  declare
    parent folder;
  begin
    if new.parent_id is null then
      new.ancestors := '{}';
      new.root_home := coalesce(new.home_id, 0);
      return new;
    end if;
    select * into parent from folder where id = new.parent_id;
    if found then
      new.ancestors := parent.ancestors || parent.id;
      new.root_home := parent.root_home;
    end if;
    return new;
  end
$$;
create trigger set_ancestors before insert or update of parent_id, home_id on folder
  for each row execute function set_ancestors();

create function set_ancestors_below() returns trigger language plpgsql as $$
  begin
    with recursive below as (
      select f.id, new.ancestors || new.id as ancestors from folder f where f.parent_id = new.id
      union all
      select f.id, b.ancestors || b.id from below b join folder f on f.parent_id = b.id)
    update folder f set ancestors = b.ancestors, root_home = new.root_home from below b where f.id = b.id;
    return null;
  end
$$;
create trigger set_ancestors_below after update of parent_id, home_id on folder
  for each row when (old.ancestors <> new.ancestors or old.root_home <> new.root_home)
  execute function set_ancestors_below();
