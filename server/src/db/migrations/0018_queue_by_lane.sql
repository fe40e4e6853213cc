-- A lane holds commands of about the same size, so commands of a lane need not be told apart by size. The old index goes
-- last, because dropping it locks out readers until the end of the migration.
create index command_waiting on command (cluster_id, lane, due_at, id)
  where status = 'waiting' or (status = 'running' and node_id is null);
drop index command_waiting_by_size;
