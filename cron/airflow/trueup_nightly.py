"""The nightly run in Airflow 3: one task for each app of `trueup apps --json`.

Put this file into the DAG folder. trueup must be on the PATH of the workers, and TRUEUP_CONFIG must
name settings with books on a server or on a disk that stays. Books and report folder take one run at a
time, so the tasks of one worker come one after the other.

TRUEUP_JOB        another job than "nightly"
TRUEUP_WORKERS    how many workers share the apps out, each with books of its own; worker K of several
                  takes the queue "trueup-K" and the apps of "trueup apps --app-shard K/N"
TRUEUP_REPORTS    where the report folder can be read, such as https://reports.example.com: each task
                  then leaves the link of its report as the XCom "report"
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from datetime import datetime, timedelta, timezone

from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk import dag, get_current_context, task

JOB = os.environ.get("TRUEUP_JOB", "nightly")
WORKERS = int(os.environ.get("TRUEUP_WORKERS", "1"))
REPORTS = os.environ.get("TRUEUP_REPORTS")

DONE = {0}
NOTHING_TO_DO = {5}
# Rows not reached, Apple or the database away, a lease or lock held, a signal: the next run goes on
# where this one stopped.
AGAIN = {3, 69, 75, 129, 130, 143}


def trueup(*arguments: str) -> tuple[int, str]:
    """Runs the program; a task that is stopped lets it keep its place and write its report."""
    process = subprocess.Popen(
        ["trueup", *arguments], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
        raise
    return process.returncode, output


def report_of(summary: dict) -> str | None:
    """Where the report of a run can be read; its folder has the run's date and name."""
    if not REPORTS or not summary.get("run_id"):
        return None
    return f"{REPORTS.rstrip('/')}/{summary['started'][:10]}/{summary['run_id']}/report.html"


@dag(
    dag_id="trueup_nightly",
    # Off the full hour, while the apps' own servers, which share Apple's quota, are quiet.
    schedule="17 3 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    tags=["trueup"],
)
def trueup_nightly():
    @task(retries=2, retry_delay=timedelta(minutes=1))
    def apps(worker: int) -> list[str]:
        status, output = trueup("apps", "--app-shard", f"{worker}/{WORKERS}", "--json")
        if status != 0:
            raise AirflowFailException(f"trueup apps ended with {status}")
        return [app["app"] for app in json.loads(output)["apps"]]

    @task(
        retries=3,
        retry_delay=timedelta(minutes=5),
        # Above the job's max_duration of 4 h, with time to write the report.
        execution_timeout=timedelta(hours=4, minutes=30),
        map_index_template="{{ app }}",
        max_active_tis_per_dagrun=1,
    )
    def run(app: str) -> str | None:
        context = get_current_context()
        context["app"] = app
        status, output = trueup("run", JOB, "--app", app, "--json", "--quiet")
        summary = json.loads(output) if output.strip() else {}
        report = report_of(summary)
        if report:
            # Before the task fails or is tried again: that is when somebody wants to read it.
            context["ti"].xcom_push(key="report", value=report)
            print(f"report: {report}")
        if status in DONE:
            return summary.get("run_id")
        if status in NOTHING_TO_DO:
            raise AirflowSkipException(f"{app}: nothing to do")
        problem = f"{app}: trueup ended with {status}; run {summary.get('run_id', 'not begun')}"
        if status in AGAIN:
            raise AirflowException(problem)
        raise AirflowFailException(problem)

    if WORKERS == 1:
        run.expand(app=apps(1))
        return
    for worker in range(1, WORKERS + 1):
        # The apps of a worker are always the same, so its books know them.
        queue = f"trueup-{worker}"
        listed = apps.override(task_id=f"apps_{worker}", queue=queue)(worker)
        run.override(task_id=f"run_{worker}", queue=queue).expand(app=listed)


trueup_nightly()
