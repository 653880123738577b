import { type AlertError, alertKey, type NewAlert, quoted, reasonText } from '../../core/alerts/index.ts'
import type { LogLine } from '../../core/boxes/index.ts'
import { plural } from '../../core/kit/index.ts'

// The alerts of rollouts. Each box alert is about one attempt at one box; the board of the box says what to do.

type OfBox = Readonly<{ rolloutId: string; slug: string; attempt: number }>
type Failed = OfBox & Readonly<{ error: AlertError; logs?: readonly LogLine[] | null }>

type AboutBox = Pick<NewAlert, 'kind' | 'key' | 'severity' | 'title' | 'body'>

const aboutBox = ({ rolloutId, slug, attempt }: OfBox, alert: AboutBox): NewAlert => ({
  subject: slug,
  key: alertKey(alert.kind, `${rolloutId}:${slug}:${attempt}`),
  command: `tenantry rollouts show ${rolloutId} --box ${slug}`,
  ...alert,
})

type UpdateFailure = 'unhealthy' | 'rolled_back' | 'opened_early' | 'wrong_image'

/** An update failed, and the box serves its users: on its previous version, or on one that was not proven. */
export const updateFailed = (failure: UpdateFailure, of: Failed): NewAlert =>
  aboutBox(of, { kind: 'update_failed', ...updateFailures[failure](of, reasonText(of.error) + lastLines(of.logs)) })

/** The last three lines of the service whose log ends last. */
function lastLines(logs: readonly LogLine[] | null = null): string {
  const last = logs
    ?.toSorted((a, b) => (a.at < b.at ? -1 : 1))
    .filter(({ text }) => text.trim() !== '')
    .at(-1)
  if (!logs || !last) return ''
  const lines = logs.filter(({ service, text }) => service === last.service && text.trim() !== '').slice(-3)
  return `\nLast lines of ${last.service}:\n${lines.map(({ text }) => `  ${quoted(text, 200)}`).join('\n')}`
}

const updateFailures: Readonly<Record<UpdateFailure, (of: OfBox, reason: string) => Pick<AboutBox, 'severity' | 'title' | 'body'>>> = {
  unhealthy: ({ rolloutId, slug }, reason) => ({
    title: `${slug} is not healthy after its update`,
    body:
      `The update of ${slug} in rollout ${rolloutId} failed its health probe and was not rolled back.\n${reason}\n` +
      'Users may already be on the new version, so it was not rolled back automatically. The snapshot from before the update is kept.',
  }),
  rolled_back: ({ rolloutId, slug }, reason) => ({
    severity: 'warning',
    title: `${slug}: update failed, box rolled back`,
    body:
      `The update of ${slug} in rollout ${rolloutId} failed, and the agent rolled the box back to its previous version.\n${reason}\n` +
      'The box serves its users on the previous version and passed its health probe. No data was lost.',
  }),
  opened_early: ({ rolloutId, slug }, reason) => ({
    title: `${slug} is open to its users but unhealthy`,
    body:
      `${slug} was opened early in rollout ${rolloutId}, because of its fence mode, and did not stay healthy.\n${reason}\n` +
      'Users may have written messages since, so it was not rolled back automatically. The error names what is kept of the data from before.',
  }),
  wrong_image: ({ rolloutId, slug }, reason) => ({
    title: `${slug} runs an unexpected image`,
    body:
      `After its update in rollout ${rolloutId}, ${slug} runs neither the planned image nor the previous one.\n${reason}\n` +
      'Users may already be on it, so it was not rolled back automatically. Find out where the image comes from before you update another box. ' +
      'The snapshot from before the update is kept.',
  }),
}

export const overdueKey = ({ rolloutId, slug, attempt }: OfBox): string =>
  alertKey('update_failed', `overdue:${rolloutId}:${slug}:${attempt}`)

/** An agent took an update and did not report a result in time. */
export const updateOverdue = (of: OfBox & Readonly<{ host: string }>): NewAlert =>
  aboutBox(of, {
    kind: 'update_failed',
    key: overdueKey(of),
    title: `${of.slug}: no result of its update`,
    body:
      `The agent on ${of.host} took the update of ${of.slug} in rollout ${of.rolloutId} and did not report a result before the deadline.\n` +
      `The agent commits or rolls back on its own, without the daemon. Until then the box may be in maintenance. ` +
      `Check that ${of.host} is running; a late result is still accepted.`,
  })

export const updateLeftDown = (of: Failed): NewAlert =>
  aboutBox(of, {
    kind: 'box_down',
    title: `${of.slug} is DOWN: update and rollback failed`,
    body:
      `The update of ${of.slug} in rollout ${of.rolloutId} failed, and the rollback failed too.\n${reasonText(of.error)}${lastLines(of.logs)}\n` +
      'Users see a maintenance page. The box is stopped; its previous data, its new data and its snapshot are kept until an operator decides.',
  })

/** The rollback of a box in a rolled back rollout failed. `isDown`: the box is stopped. */
export const boxRollbackFailed = (of: Failed & Readonly<{ isDown: boolean }>): NewAlert => {
  const body =
    `Rollout ${of.rolloutId} is being rolled back, and the rollback of ${of.slug} failed.\n${reasonText(of.error)}\n` +
    'The snapshots from before the update and from before the rollback are kept until an operator decides.'
  if (!of.isDown) return aboutBox(of, { kind: 'rollback_failed', title: `${of.slug}: rollback failed`, body })
  return aboutBox(of, {
    kind: 'box_down',
    title: `${of.slug} is DOWN: rollback from rollout ${of.rolloutId} failed`,
    body:
      `${body}\nUsers of ${of.slug} see a maintenance notice. The rollback of further boxes is stalled until an operator runs ` +
      `\`tenantry rollouts rollback ${of.rolloutId} --resume\` or \`--stop\`.`,
  })
}

/**
 * Paused by the engine, or by a person (`by`). `held`: paused at the point set by `holdAfter`. `mustSkip`: a box whose rollback failed is
 * not retried, and the rollout resumes only without it.
 */
type Paused = Readonly<{ rolloutId: string; reason: string; held?: boolean; mustSkip?: boolean; by?: string }>

export const rolloutPaused = ({ rolloutId, reason, held = false, mustSkip, by }: Paused): NewAlert => {
  const isMeant = held || by !== undefined
  // The reason names the field of the API.
  const typed = reason.replace('(skipFailed)', '(--skip-failed)')
  return {
    kind: 'rollout_paused',
    subject: rolloutId,
    severity: isMeant ? 'info' : 'warning',
    title: `Rollout ${rolloutId} ${by === undefined ? (held ? 'reached its hold point' : 'paused and needs a decision') : `was paused by ${quoted(by, 80)}`}`,
    body:
      `${by === undefined ? '' : 'Reason: '}${quoted(typed, 1500)}\nNo further box is started. Updated boxes stay updated; running updates finish.\n` +
      `To continue: tenantry rollouts resume ${rolloutId}${mustSkip ? ' --skip-failed' : ''}\nTo abort: tenantry rollouts abort ${rolloutId}`,
    command: isMeant ? `tenantry rollouts resume ${rolloutId}` : `tenantry rollouts show ${rolloutId}`,
  }
}

type LeftOut = Readonly<{
  /** Boxes that it does not update although they need it, each with its reason: `linden: BOX_UNHEALTHY`. */
  leftOut: readonly string[]
  /** Boxes that run its versions already. */
  upToDate: number
}>

const maxNamed = 50

const leftOutText = ({ leftOut, upToDate }: LeftOut): string =>
  (upToDate === 0 ? '' : `\nUp to date already: ${plural(upToDate, 'box', 'boxes')}.`) +
  (leftOut.length === 0
    ? ''
    : `\nLeft out (${leftOut.length}): ${leftOut.slice(0, maxNamed).join('; ')}${leftOut.length > maxNamed ? '; …' : ''}.`)

type Emergency = LeftOut & Readonly<{ rolloutId: string; cveId: string; by: string }>

export const emergencyCreated = (of: Emergency & Readonly<{ reason: string; boxes: number }>): NewAlert => ({
  kind: 'emergency',
  subject: of.rolloutId,
  title: `Emergency ${of.cveId}: ${plural(of.boxes, 'box', 'boxes')} to be updated${of.leftOut.length > 0 ? `, ${of.leftOut.length} left out` : ''}`,
  body:
    `${quoted(of.by, 120)} created the emergency rollout ${of.rolloutId}.\nReason: ${quoted(of.reason)}\n` +
    `It is queued: no box is updated until it is started, when its plan is made again. It ignores maintenance windows.${leftOutText(of)}`,
  command: `tenantry rollouts show ${of.rolloutId}`,
})

export const emergencyStarted = (
  of: Emergency & Readonly<{ paused: readonly string[]; stoppedRollbacks: readonly string[] }>,
): NewAlert => ({
  kind: 'emergency',
  subject: of.rolloutId,
  title: `Emergency ${of.cveId} has started`,
  body:
    `${quoted(of.by, 120)} started the emergency rollout ${of.rolloutId}. It ignores maintenance windows.\n` +
    (of.paused.length === 0 ? 'No other rollout was running.' : `Paused, resume afterwards: ${of.paused.join(', ')}.`) +
    (of.stoppedRollbacks.length === 0 ? '' : `\nRollbacks stopped, decide afterwards: ${of.stoppedRollbacks.join(', ')}.`) +
    leftOutText(of),
  command: `tenantry rollouts watch ${of.rolloutId}`,
})
