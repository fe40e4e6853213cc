-- A stop of an app raises its generation: every node ends the servers and waiting drivers of an earlier one.
alter table app add column generation bigint not null default 0;

-- The apps that have warm servers, as each node reports its own.
create table app_server (
  app_id bigint not null references app (id) on delete cascade,
  node_id uuid not null references node (id) on delete cascade,
  -- the earliest of its servers there
  generation bigint not null,
  -- false: they are starting or ending
  is_up boolean not null,
  primary key (app_id, node_id)
);
create index app_server_by_node on app_server (node_id);
alter table app_server enable row level security;
create policy no_account on app_server to headgate_account using (false);
