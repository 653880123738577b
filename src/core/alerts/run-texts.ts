import type { NewAlert } from './alert.ts'

type OfRun = Readonly<{ slug: string; runId: string; elementId: string | null }>

const subjectOf = ({ slug, runId }: Pick<OfRun, 'slug' | 'runId'>): string => `${slug}/${runId}`

/** Identifies the alert of all checkpoints of a run. */
export const stalledKey = (runId: string): string => `checkpoint_stalled:${runId}`
/** Identifies the alert of one element, or of the whole run. */
export const overdueKey = (runId: string, elementId: string | null): string => `run_overdue:${runId}:${elementId ?? ''}`

/** Identifies the alert of a run that failed. */
export const failedKey = (runId: string): string => `run_failed:${runId}`

type StalledCheckpoint = Readonly<{ elementId: string; role: string; eligible: number; required: number }>
type StalledRun = Omit<OfRun, 'elementId'> & Readonly<{ checkpoints: readonly StalledCheckpoint[] }>

/** Too few active users of the tenant can approve checkpoints, so their run waits for ever. */
export const checkpointStalled = (of: StalledRun): NewAlert => ({
  kind: 'checkpoint_stalled',
  key: stalledKey(of.runId),
  subject: subjectOf(of),
  severity: 'warning',
  title: `A checkpoint of ${of.slug} has too few approvers`,
  body:
    of.checkpoints
      .slice(0, 1)
      .map(
        (one) =>
          `The element ${one.elementId} of run ${of.runId} needs ${one.required} approvals of the role ${one.role}, ` +
          `and only ${one.eligible} active users can give one. `,
      )
      .join('') +
    (of.checkpoints.length > 1 ? `So it is for ${of.checkpoints.length - 1} more of its elements. ` : '') +
    'The run waits until more users have the role. Other runs are not affected.\n' +
    'The command below lists the users; give one of them the role, or ask the school to cancel the run.',
  command: `tenantry users list ${of.slug}`,
})

/** A run, or one of its elements, was not done in time. `role`: the escalation role of the element, which has a task now. */
export const runOverdue = (of: OfRun & Readonly<{ role: string | null }>): NewAlert => ({
  kind: 'run_overdue',
  key: overdueKey(of.runId, of.elementId),
  subject: subjectOf(of),
  severity: 'warning',
  title: `A run of ${of.slug} is overdue`,
  body:
    `${of.elementId === null ? 'The whole run' : `The element ${of.elementId} of run`} ${of.runId} was not done in time. ` +
    `${escalated(of)} Nothing else is affected.\n` +
    `Ask the school to continue it, or cancel the run: tenantry runs cancel ${of.runId} --tenant ${of.slug}`,
  command: `tenantry runs show ${of.runId} --tenant ${of.slug}`,
})

const escalated = ({ elementId, role }: Parameters<typeof runOverdue>[0]): string => {
  if (elementId === null) return 'What waits has a task of its escalation role if its board names one, and continues to wait.'
  if (role === null) return 'Its board names no escalation role, so no other role has a task, and it continues to wait.'
  return `The escalation role ${role} has a task now, and the element continues to wait.`
}

/** A run failed by its board, not by a rejection or a cancel: it waits for ever. Its reason may quote variables, so it is not named. */
export const runFailed = (of: OfRun & Readonly<{ boardId: string; code: string; isRetryable: boolean }>): NewAlert => ({
  kind: 'run_failed',
  key: failedKey(of.runId),
  subject: subjectOf(of),
  severity: 'warning',
  title: `A run of ${of.slug} failed`,
  body:
    `Run ${of.runId} of board ${of.boardId} failed with ${of.code}${of.elementId === null ? '' : ` at the element ${of.elementId}`}. ` +
    'No time of it fires any more, also none that escalates; its open tasks stay open. Other runs are not affected.\n' +
    (of.isRetryable
      ? `Retry or cancel it: tenantry runs retry ${of.runId} --tenant ${of.slug}`
      : 'A retry would fail again. Ask the school to correct the board and start a new run, and cancel this one: ' +
        `tenantry runs cancel ${of.runId} --tenant ${of.slug}`),
  command: `tenantry runs show ${of.runId} --tenant ${of.slug}`,
})

/** A message of a run was not sent and is not tried again; the run continued. */
export const runMessageFailed = (of: OfRun & Readonly<{ boardId: string }>): NewAlert => ({
  kind: 'run_message_failed',
  key: `run_message_failed:${of.runId}:${of.elementId}`,
  subject: subjectOf(of),
  severity: 'warning',
  title: `A message of a run of ${of.slug} was not sent`,
  body:
    `The chat server refused the message of the element ${of.elementId} in run ${of.runId} of board ${of.boardId}, it is too long, or its room ` +
    'was deleted. ' +
    'It is not sent again. The run continued.\n' +
    'Ask the school to inform the people concerned, and to correct the room in the board.',
  command: `tenantry runs show ${of.runId} --tenant ${of.slug}`,
})

/** A trigger of a board started no run: the board refused it, or its expression has no value. One alert for all triggers of the board. */
export const triggerFailed = ({ slug, boardId }: Readonly<{ slug: string; boardId: string }>): NewAlert => ({
  kind: 'trigger_failed',
  key: `trigger_failed:${boardId}`,
  subject: `${slug}/${boardId}`,
  severity: 'warning',
  title: `A trigger of a board of ${slug} started no run`,
  body:
    `What a trigger of board ${boardId} of ${slug} waits for has happened, and its run was refused. Nothing is repeated. Other boards are not ` +
    'affected.\nAsk the school to start the run by hand and to correct the board: its occurrences ' +
    `(GET /api/platform/v1/cascade-boards/${boardId}/occurrences) name the reason. The command below lists the faults of its last version.`,
  command: `tenantry boards check ${boardId} --tenant ${slug}`,
})

/** Identifies the alert of one report. */
export const reportKey = (runId: string, reportId: string): string => `run_report_failed:${runId}:${reportId}`

type FailedReport = OfRun & Readonly<{ boardId: string; reportId: string; reason: 'quota' | 'space' | 'error' }>

const reportFailures: Readonly<Record<FailedReport['reason'], (slug: string) => string>> = {
  quota: (slug) => `the files of ${slug} use its whole storage quota`,
  space: () => 'its space was deleted',
  error: () => 'of an unexpected error, which the log of the daemon names',
}

const reportFixes: Readonly<Record<FailedReport['reason'], string>> = {
  quota: 'Ask the school to delete files permanently, or to take a larger plan. Then the command below stores the report.',
  space: 'It cannot be stored any more. Ask the school to read it in the run, and to name another space in the board.',
  error: 'Fix the cause. Then the command below stores the report.',
}

/** A report of a run was not stored as files; the run continued. */
export const runReportFailed = (of: FailedReport): NewAlert => ({
  kind: 'run_report_failed',
  key: reportKey(of.runId, of.reportId),
  subject: subjectOf(of),
  severity: 'warning',
  title: `A report of a run of ${of.slug} was not stored`,
  body:
    `The report of the element ${of.elementId} in run ${of.runId} of board ${of.boardId} was not stored, because ${reportFailures[of.reason](of.slug)}. ` +
    `Its text stays in the run, which continued.\n${reportFixes[of.reason]}`,
  command: of.reason === 'space' ? `tenantry runs show ${of.runId} --tenant ${of.slug}` : 'tenantry jobs retry --topic runs.report',
})
