-- Commands of one cluster that wait for the same thing, such as Spark or room for one warm server, wait in a lane of their
-- own, so that they hide no others. Set at submission; what an older version has stored shares one lane.
alter table command add column lane text not null default 'other';
drop index command_waiting;
create index command_waiting on command (cluster_id, lane, due_at, id)
  where status = 'waiting' or (status = 'running' and node_id is null);
