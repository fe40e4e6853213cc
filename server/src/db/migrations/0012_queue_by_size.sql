-- A node looks for commands that fit it: those of one lane by their size, in classes that are 13 % apart, so that any number
-- of larger ones is skipped. The query has the same expression. PostgreSQL answers it from the index alone only if the
-- column is in there as well.
drop index command_waiting;
create index command_waiting on command (
  cluster_id, lane, (floor(8 * ln(greatest(memory_mib, 1)))::integer), due_at, id
) include (memory_mib) where status = 'waiting' or (status = 'running' and node_id is null);
