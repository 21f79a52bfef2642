-- What operators change while nodes serve.
--
-- A suspended account keeps its money, its keys and its people, and its keys are refused until it is resumed.
-- Rows of before have no time there, so there is nothing to validate.
ALTER TABLE app.account ADD COLUMN suspended_at timestamptz;
GRANT UPDATE (suspended_at) ON app.account TO trunkline_console;

-- A credential that an operator removed is deleted, because its secret must be gone. Usage rows find the
-- channel, which stays; the topic's number tells nodes.
GRANT DELETE ON app.channel_credential TO trunkline_console;

-- What the keyring has sealed is sealed anew after a rotation, each column by the role that writes it.
GRANT UPDATE (url) ON app.task_webhook TO trunkline_data;
