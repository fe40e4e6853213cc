-- The table formats that the commands of a cluster can use, besides those of Spark itself.
alter table cluster add column table_formats text[] not null default '{}';
alter table cluster add constraint cluster_table_formats_check check (table_formats <@ array['delta', 'iceberg']);
