-- Lists find the notebooks of a folder by note_in_folder and read their policies by id. This is a transaction of its own:
-- with the lock that the previous migration takes on folder, it would deadlock with edits of notebooks, which lock note
-- first. The indexes can be missing, because a development version of the previous migration dropped them.
drop index if exists note_in_folder_without_policy, note_with_policy;
