import { plural, printable } from '../kit/index.ts'
import type { NewAlert } from './alert.ts'

// Alerts about rollouts. Shared phrases of all alert texts are here too.

/** The stored error of an action. Text from a box or an agent is untrusted. */
export type AlertError = Readonly<{ code: string; message: string }> | null

type OfBox = Readonly<{ rolloutId: string; slug: string; attempt: number; error: AlertError }>

/** Formats an ISO time for a message: `2026-01-05 02:00:00 UTC`. */
export const humanTime = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`

/** Reduces untrusted text to one printable line of at most `maxLength` characters. */
export const quoted = (text: string, maxLength = 400): string => {
  const line = printable(text.replace(/\s+/g, ' ')).trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line
}

export const reasonText = (error: AlertError): string =>
  error ? `${quoted(error.code, 60)}: ${quoted(error.message)}` : 'The agent gave no reason.'

type AboutBox = Pick<NewAlert, 'kind' | 'title' | 'body'> & Readonly<{ severity?: NewAlert['severity'] }>

/** An alert about one attempt at one box. */
const aboutBox = (of: Omit<OfBox, 'error'>, { kind, severity = 'critical', title, body }: AboutBox): NewAlert => ({
  ...{ kind, key: `${kind}:${of.rolloutId}:${of.slug}:${of.attempt}`, subject: of.slug, severity, title, body },
  command: `tenantry rollouts show ${of.rolloutId} --box ${of.slug}`,
})

/** The attempt failed after the box was open to users, so nothing is rolled back automatically. */
export const probeFailed = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'probe_failed',
    title: `${of.slug} is not healthy after its update`,
    body:
      `The update of ${of.slug} in rollout ${of.rolloutId} failed its health probe and was not rolled back.\n${reasonText(of.error)}\n` +
      'Users may already be on the new version, so it was not rolled back automatically. The snapshot from before the update is kept.',
  })

export const actionRolledBack = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'action_rolled_back',
    severity: 'warning',
    title: `${of.slug}: update failed, box rolled back`,
    body:
      `The update of ${of.slug} in rollout ${of.rolloutId} failed, and the agent rolled the box back to its previous version.\n${reasonText(of.error)}\n` +
      'The box serves its users on the previous version and passed its health probe. No data was lost.',
  })

export const rollbackFailed = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'rollback_failed',
    title: `${of.slug} is DOWN: update and rollback failed`,
    body:
      `The update of ${of.slug} in rollout ${of.rolloutId} failed, and the rollback failed too.\n${reasonText(of.error)}\n` +
      'Users see a maintenance page. The box is stopped; its previous data, its new data and its snapshot are kept until an operator decides.',
  })

/** An agent took an update and did not report a result in time. */
export const deadlineOverdue = (of: Readonly<{ rolloutId: string; slug: string; attempt: number; host: string }>): NewAlert =>
  aboutBox(of, {
    kind: 'deadline_overdue',
    title: `${of.slug}: no result of its update`,
    body:
      `The agent on ${of.host} took the update of ${of.slug} in rollout ${of.rolloutId} and did not report a result before the deadline.\n` +
      `The agent commits or rolls back on its own, without the daemon. Until then the box may be in maintenance. ` +
      `Check that ${of.host} is running; a late result is still accepted.`,
  })

export const boxRollbackFailed = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'undo_failed',
    title: `${of.slug}: rollback failed`,
    body:
      `Rollout ${of.rolloutId} is being rolled back, and the rollback of ${of.slug} failed.\n${reasonText(of.error)}\n` +
      'The snapshots from before the update and from before the rollback are kept until an operator decides.',
  })

/** A box failed its health probe after it was opened to its users. */
export const boxReopenedUnproven = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'box_reopened_unproven',
    title: `${of.slug} is open to its users but unhealthy`,
    body:
      `${of.slug} was opened early in rollout ${of.rolloutId}, because of its fence mode, and did not stay healthy.\n${reasonText(of.error)}\n` +
      'Users may have written messages since, so it was not rolled back automatically. The error names what is kept of the data from before.',
  })

/** The agent reported success or a rollback, but another image than the expected one is running. */
export const wrongImage = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'wrong_image',
    title: `${of.slug} runs an unexpected image`,
    body:
      `After its update in rollout ${of.rolloutId}, ${of.slug} runs neither the planned image nor the previous one.\n${reasonText(of.error)}\n` +
      'Users may already be on it, so it was not rolled back automatically. Find out where the image comes from before you update another box. ' +
      'The snapshot from before the update is kept.',
  })

/**
 * Paused by the engine, or by a person (`by`). `held`: paused at the point set by `holdAfter`. `mustSkip`: a box whose rollback failed is
 * not retried, and the rollout resumes only without it.
 */
type Paused = Readonly<{ rolloutId: string; reason: string; held?: boolean; mustSkip?: boolean; by?: string }>

const pauseTitle = ({ rolloutId, held, by }: Paused): string => {
  if (by !== undefined) return `Rollout ${rolloutId} was paused by ${quoted(by, 80)}`
  return held ? `Rollout ${rolloutId} reached its hold point` : `Rollout ${rolloutId} paused and needs a decision`
}

const isMeant = ({ held, by }: Paused): boolean => held === true || by !== undefined

export const rolloutPaused = (of: Paused): NewAlert => ({
  kind: 'rollout_paused',
  key: `rollout_paused:${of.rolloutId}`,
  subject: of.rolloutId,
  severity: isMeant(of) ? 'info' : 'warning',
  title: pauseTitle(of),
  body:
    `${of.by === undefined ? '' : 'Reason: '}${quoted(typed(of.reason), 1500)}\nNo further box is started. Updated boxes stay updated; running updates finish.\n` +
    `To continue: tenantry rollouts resume ${of.rolloutId}${of.mustSkip ? ' --skip-failed' : ''}\nTo abort: tenantry rollouts abort ${of.rolloutId}`,
  command: isMeant(of) ? `tenantry rollouts resume ${of.rolloutId}` : `tenantry rollouts show ${of.rolloutId}`,
})

/** Replaces the API field name with the CLI flag. */
const typed = (reason: string): string => reason.replace('(skipFailed)', '(--skip-failed)')

type RolledBack = Readonly<{ rolloutId: string; by: string; reason: string; boxes: 'none' | 'images' | 'snapshot' }>

const backward = {
  none: 'Updated boxes stay updated.',
  images: 'Updated boxes are rolled back to their previous images, newest first.',
  snapshot: 'Updated boxes are restored from the snapshot before their update, newest first. Data written since is lost.',
} as const

export const rolloutRolledBack = (of: RolledBack): NewAlert => ({
  kind: 'rollout_rolled_back',
  key: `rollout_rolled_back:${of.rolloutId}`,
  subject: of.rolloutId,
  severity: of.boxes === 'none' ? 'info' : 'warning',
  title: `Rollout ${of.rolloutId} was rolled back by ${quoted(of.by, 80)}`,
  body: `Reason: ${quoted(of.reason)}\n${backward[of.boxes]} No further box is started.`,
  command: `tenantry rollouts show ${of.rolloutId}`,
})

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

type Emergency = LeftOut & Readonly<{ rolloutId: string; cveId: string; by: string; reason: string; boxes: number }>

export const emergencyCreated = (of: Emergency): NewAlert => ({
  kind: 'emergency_created',
  key: `emergency_created:${of.rolloutId}`,
  subject: of.rolloutId,
  severity: 'warning',
  title: `Emergency ${of.cveId}: ${plural(of.boxes, 'box', 'boxes')} to be updated${of.leftOut.length > 0 ? `, ${of.leftOut.length} left out` : ''}`,
  body:
    `${quoted(of.by, 120)} created the emergency rollout ${of.rolloutId}.\nReason: ${quoted(of.reason)}\n` +
    `It is queued: no box is updated until it is started, when its plan is made again. It ignores maintenance windows.${leftOutText(of)}`,
  command: `tenantry rollouts show ${of.rolloutId}`,
})

type Started = LeftOut &
  Readonly<{ rolloutId: string; cveId: string; by: string; paused: readonly string[]; stoppedUndos: readonly string[] }>

export const emergencyStarted = (of: Started): NewAlert => ({
  kind: 'emergency_started',
  key: `emergency_started:${of.rolloutId}`,
  subject: of.rolloutId,
  severity: 'warning',
  title: `Emergency ${of.cveId} has started`,
  body:
    `${quoted(of.by, 120)} started the emergency rollout ${of.rolloutId}. It ignores maintenance windows.\n` +
    (of.paused.length === 0 ? 'No other rollout was running.' : `Paused, resume afterwards: ${of.paused.join(', ')}.`) +
    (of.stoppedUndos.length === 0 ? '' : `\nRollbacks stopped, decide afterwards: ${of.stoppedUndos.join(', ')}.`) +
    leftOutText(of),
  command: `tenantry rollouts watch ${of.rolloutId}`,
})
