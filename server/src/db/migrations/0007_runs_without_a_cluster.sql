-- What runs whatever state its cluster is in is no work of the cluster's: set with the claim, which knows.
alter table command add column needs_cluster boolean not null default true;
-- Whoever cancels a command that waits within an attempt ends that attempt.
grant update (ended_at) on command_attempt to headgate_account;
