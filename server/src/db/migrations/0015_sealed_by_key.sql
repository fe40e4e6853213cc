-- Finds the values that are still sealed with an old key, without reading the others: a sealed value starts with the id of
-- its key in four bytes. The old indexes go last, because dropping them locks out readers until the end of the migration.
create index account_storage_access_key_sealed on account (substring(storage_access_key from 1 for 4)) where storage_access_key is not null;
create index account_storage_secret_key_sealed on account (substring(storage_secret_key from 1 for 4)) where storage_secret_key is not null;
create index account_compute_access_key_sealed on account (substring(compute_access_key from 1 for 4)) where compute_access_key is not null;
create index account_compute_secret_key_sealed on account (substring(compute_secret_key from 1 for 4)) where compute_secret_key is not null;
create index idempotency_reply_sealed on idempotency (substring(reply from 1 for 4));
create index metastore_password_sealed on metastore (substring(password from 1 for 4));
create index metastore_secret_sealed on metastore (substring(secret from 1 for 4));
create index cluster_token_sealed on cluster (substring(token from 1 for 4)) where token is not null;
create index command_secrets_sealed on command (substring(secrets from 1 for 4)) where secrets is not null;
drop index cluster_sealed;
drop index command_sealed;
