-- Counted up by each heartbeat. Other nodes measure by their own clocks how long it has not changed: a time that is
-- compared with now() says nothing after a clock was set.
alter table node add column beat bigint not null default 0;
-- Counted up by the node that starts or ends the cluster, for the same reason.
alter table cluster add column work_beat bigint not null default 0;
