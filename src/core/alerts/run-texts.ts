import type { NewAlert } from './alert.ts'

type OfRun = Readonly<{ slug: string; runId: string; elementId: string | null }>

const subjectOf = ({ slug, runId }: Pick<OfRun, 'slug' | 'runId'>): string => `${slug}/${runId}`

/** Identifies the alert of all checkpoints of a run. */
export const stalledKey = (runId: string): string => `checkpoint_stalled:${runId}`
/** Identifies the alert of one element, or of the whole run. */
export const overdueKey = (runId: string, elementId: string | null): string => `run_overdue:${runId}:${elementId ?? ''}`

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

/** A run, or one of its elements, was not done in time. */
export const runOverdue = (of: OfRun): NewAlert => ({
  kind: 'run_overdue',
  key: overdueKey(of.runId, of.elementId),
  subject: subjectOf(of),
  severity: 'warning',
  title: `A run of ${of.slug} is overdue`,
  body:
    `${of.elementId === null ? 'The whole run' : `The element ${of.elementId} of run`} ${of.runId} was not done in time. ` +
    'What waits went to the escalation role that its board names, and continues to wait. Nothing else is affected.\n' +
    'Ask the school to continue it; a user with manageBoards can cancel the run.',
  command: `tenantry tenants show ${of.slug}`,
})

/** A message of a run was not sent and is not tried again; the run continued. */
export const runMessageFailed = (of: OfRun & Readonly<{ boardId: string }>): NewAlert => ({
  kind: 'run_message_failed',
  key: `run_message_failed:${of.runId}:${of.elementId}`,
  subject: subjectOf(of),
  severity: 'warning',
  title: `A message of a run of ${of.slug} was not sent`,
  body:
    `The chat server refused the message of the element ${of.elementId} in run ${of.runId} of board ${of.boardId}, or its room was deleted. ` +
    'It is not sent again. The run continued.\n' +
    'Ask the school to inform the people concerned, and to correct the room in the board.',
  command: `tenantry runs show ${of.runId} --tenant ${of.slug}`,
})
