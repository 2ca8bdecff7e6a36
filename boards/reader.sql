-- The user that Grafana reads as: the views of the chain and nothing else, within limits. What he can see is public, and
-- the server listens only inside the network of docker compose, so the password is no secret.
-- The driver of Grafana's data source sends max_execution_time with each query, which a reader may otherwise not set.
CREATE SETTINGS PROFILE IF NOT EXISTS grafana SETTINGS readonly = 1 CONST, allow_ddl = 0 CONST, max_execution_time = 30 MAX 60 CHANGEABLE_IN_READONLY, max_memory_usage = 1000000000 CONST, max_memory_usage_for_user = 2000000000 CONST, max_rows_to_read = 2000000000 CONST, max_result_rows = 1000000 CONST, max_threads = 2 CONST, query_plan_optimize_lazy_materialization = 0 CONST, priority = 10 CONST;
CREATE USER IF NOT EXISTS grafana IDENTIFIED BY 'grafana' SETTINGS PROFILE 'grafana';
GRANT SELECT ON ton.* TO grafana;
