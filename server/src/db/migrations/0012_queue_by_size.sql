-- Finds commands that fit a node. Within a lane they are sorted by size class, so larger commands are skipped without being
-- read. `memory_mib` is included because PostgreSQL needs the column itself for an index-only scan. The old index goes last,
-- because dropping it locks out readers until the end of the migration.
create index command_waiting_by_size on command (
  cluster_id, lane, (floor(2 * ln(greatest(memory_mib, 1)))::integer), due_at, id
) include (memory_mib) where status = 'waiting' or (status = 'running' and node_id is null);
drop index command_waiting;
