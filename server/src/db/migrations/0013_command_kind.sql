-- The kind of a command (commands/kinds/), decided at submission. Null in rows that an older version writes during an
-- upgrade of several nodes.
alter table command add column kind text;
