-- The only node that may run the next attempts of a command, because they continue what it has on its disk: the journal
-- of a copy. Such commands wait in a lane of their own, so that on other nodes they hide no others.
alter table command add column only_node_id uuid;
update command set only_node_id = first.node_id, lane = command.lane || ' on node ' || first.node_id
from (
  select distinct on (command_id) command_id, node_id from command_attempt
  where command_id in (select id from command where end_time is null and kind = 's3distcp') and node_id is not null
  order by command_id, number
) first
where command.id = first.command_id;
create index command_waiting_for_node on command (only_node_id)
  where only_node_id is not null and status = 'running' and node_id is null;

-- The timeline of PostgreSQL when a node last looked. It changes with every failover, which may have lost the last
-- changes together with the ids that they had taken.
alter table node add column timeline bigint;
