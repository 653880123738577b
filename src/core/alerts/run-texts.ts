import { plural } from '../kit/index.ts'
import type { NewAlert } from './alert.ts'

type OfRun = Readonly<{ slug: string; runId: string; elementId: string | null }>

const subjectOf = ({ slug, runId }: Pick<OfRun, 'slug' | 'runId'>): string => `${slug}/${runId}`

/** Identifies the alert of all stalled elements of a run. */
export const stalledKey = (runId: string): string => `checkpoint_stalled:${runId}`
/** Identifies the alert of all late elements of a run. */
export const overdueKey = (runId: string): string => `run_overdue:${runId}`

/** Identifies the alert of a run that failed. */
export const failedKey = (runId: string): string => `run_failed:${runId}`

type StalledElement = Readonly<{
  elementId: string
  kind: 'task' | 'checkpoint' | 'form'
  /** Null: the user who started the run. */
  role: string | null
  eligible: number
  required: number
}>
type StalledRun = Omit<OfRun, 'elementId'> & Readonly<{ elements: readonly StalledElement[] }>

/** Too few active users of the tenant can approve checkpoints, or none can do a task or form, so their run waits for ever. */
export function checkpointStalled(of: StalledRun): NewAlert {
  const [first, ...others] = of.elements
  return {
    kind: 'checkpoint_stalled',
    key: stalledKey(of.runId),
    subject: subjectOf(of),
    severity: 'warning',
    title: `An element of a run of ${of.slug} has too few users`,
    body:
      (first ? `The element ${first.elementId} of run ${of.runId} ${lacks(first)}. ` : '') +
      (others.length > 0 ? `So it is for ${others.length} more of its elements. ` : '') +
      'The run waits until that changes. Other runs are not affected.\n' +
      'The command below lists the users. Give one of them the role, or enable the user; ' +
      'a user of the school with manageRuns can assign its tasks to others, or cancel the run.',
    command: `tenantry users list ${of.slug}`,
  }
}

const lacks = ({ kind, role, eligible, required }: StalledElement): string => {
  if (role === null) return `is for the user ${kind === 'task' ? 'to whom it is assigned' : 'who started it'}, and that user is not active`
  if (kind !== 'checkpoint') return `is done by the role ${role}, which no active user has`
  return `needs ${plural(required, 'approval')} of the role ${role}, and only ${plural(eligible, 'active user')} can give one`
}

type LateElement = Readonly<{
  elementId: string
  kind: 'task' | 'checkpoint' | 'form'
  role: string | null
  escalationRole: string | null
  /** Too few active users can do it now. */
  isStalled: boolean
}>
/** `isWhole`: the time of the whole run has passed. */
type LateRun = Omit<OfRun, 'elementId'> & Readonly<{ isWhole: boolean; elements: readonly LateElement[] }>

/** Elements of a run, or the whole run, were not done in time. One alert for each run, since users of the tenant continue it. */
export function runOverdue(of: LateRun): NewAlert {
  const [first, ...others] = of.elements
  return {
    kind: 'run_overdue',
    key: overdueKey(of.runId),
    subject: subjectOf(of),
    severity: 'warning',
    title: `A run of ${of.slug} is overdue`,
    body:
      (of.isWhole ? `The whole run ${of.runId} was not done in time. ` : '') +
      (first ? `The element ${first.elementId} of run ${of.runId} was not done in time. ${doers(first)} ${lacksUsers(first)}` : '') +
      (others.length > 0 ? `So it is for ${others.length} more of its elements. ` : '') +
      'The run continues to wait. Nothing else is affected.\n' +
      'Ask the school to continue it; a user of the school with manageRuns can cancel it.',
    command: `tenantry runs show ${of.runId} --tenant ${of.slug}`,
  }
}

/** The users of the school who can do it now: an escalated task is of the other role alone, a form of both, a checkpoint of its own. */
function doers({ kind, role, escalationRole }: LateElement): string {
  const own = role === null ? 'the user who started the run' : `the role ${role}`
  const first = own.charAt(0).toUpperCase() + own.slice(1)
  if (escalationRole === null) return `${first} can do it; its board names no escalation role.`
  if (kind === 'task') return `The role ${escalationRole} has it now.`
  if (kind === 'form') return `${first} can do it, and so can the escalation role ${escalationRole}, which has a task now.`
  return `${first} decides it; the escalation role ${escalationRole} has a task to see to it.`
}

const lacksUsers = ({ kind, isStalled }: LateElement): string => {
  if (!isStalled) return ''
  return kind === 'checkpoint' ? 'Too few active users can decide it at present. ' : 'No active user can do it at present. '
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
      : 'A retry would fail again. Ask the school to publish a corrected version of the board, and continue with it: ' +
        `tenantry runs retry ${of.runId} --tenant ${of.slug} --board-version <version>. ` +
        `Or cancel it, and let the school start a new run: tenantry runs cancel ${of.runId} --tenant ${of.slug}`),
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

/** A trigger of a board started no run: the board refused it, its expression has no value, or its message was read late. One alert for all triggers of the board. */
export const triggerFailed = ({ slug, boardId }: Readonly<{ slug: string; boardId: string }>): NewAlert => ({
  kind: 'trigger_failed',
  key: `trigger_failed:${boardId}`,
  subject: `${slug}/${boardId}`,
  severity: 'warning',
  title: `A trigger of a board of ${slug} started no run`,
  body:
    `What a trigger of board ${boardId} of ${slug} waits for has happened, and its run was refused, or its message was read more than an hour ` +
    'late. Nothing is repeated. Other boards are not affected.\nAsk the school to start the run by hand and to correct the board: its occurrences ' +
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
