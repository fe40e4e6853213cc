-- Gives stored commands their kind. A migration of its own, because adding a column locks out readers until its end.
-- Commands that have not ended come last, so that the nodes that run them are not kept waiting for the others.
do $$
declare
  has_ended boolean;
begin
  foreach has_ended in array array[true, false] loop
    update command set kind = (
      select case
        when command_type = 'HadoopCommand' then 's3distcp'
        when command_type = 'HiveCommand' and (options is null or options ->> 'engine' = 'spark') then 'sql'
        when command_type = 'HiveCommand' then 'refresh'
        when language is not null then case language when 'sql' then 'sql' else 'program' end
        when script_location is not null then case when script_location like '%.sql' then 'sql' else 'program' end
        when sql is not null then 'sql'
        else 'program'
      end
      from json_to_record(command.command) given (language text, script_location text, sql text)
    )
    where kind is null and (end_time is not null) = has_ended;
  end loop;
end $$;
