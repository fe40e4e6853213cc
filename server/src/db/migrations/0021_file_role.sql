-- System-users work with the files of the storage. Their built-in role says so, for groups that have this role.
update access_role
   set policy = left(policy, -1)
         || ',{"resource":"file","action":["read","create","update","delete"],"access":"allow"}]'
 where source = 'system' and name = 'system-user' and policy not like '%"resource":"file"%';
