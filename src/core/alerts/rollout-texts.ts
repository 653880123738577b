import { plural, printable } from '../kit/index.ts'
import type { NewAlert } from './alert.ts'

// Alerts about rollouts: what a person reads at night, and the line to type next.

/** An error as it is kept with an action; what a box or agent wrote is foreign text. */
export type Told = Readonly<{ code: string; message: string }> | null

type OfBox = Readonly<{ rolloutId: string; slug: string; attempt: number; error: Told }>

/** A time as people say it. */
export const spoken = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`

/** One line of foreign text that fits a message. */
export const said = (text: string, longest = 400): string => {
  const line = printable(text.replace(/\s+/g, ' ')).trim()
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

export const because = (error: Told): string => (error ? `${said(error.code, 60)}: ${said(error.message)}` : 'The agent did not say why.')

type AboutBox = Pick<NewAlert, 'kind' | 'title' | 'body'> & Readonly<{ severity?: NewAlert['severity'] }>

/** Of one attempt at one box, and to be looked at there. */
const aboutBox = (of: Omit<OfBox, 'error'>, { kind, severity = 'critical', title, body }: AboutBox): NewAlert => ({
  ...{ kind, key: `${kind}:${of.rolloutId}:${of.slug}:${of.attempt}`, subject: of.slug, severity, title, body },
  command: `tenantry rollouts show ${of.rolloutId} --box ${of.slug}`,
})

/** It ended failed, and its chat was open by then: nothing goes back by itself. */
export const probeFailed = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'probe_failed',
    title: `${of.slug} is not healthy after its update`,
    body:
      `The update of ${of.slug} in rollout ${of.rolloutId} failed its health probe and was not restored.\n${because(of.error)}\n` +
      'Its users may be on the new version already, so nothing goes back by itself. Its snapshot from before the update is kept.',
  })

export const actionRolledBack = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'action_rolled_back',
    severity: 'warning',
    title: `${of.slug} could not be updated and was restored`,
    body:
      `The update of ${of.slug} in rollout ${of.rolloutId} failed, and its agent brought the box back as it was before.\n${because(of.error)}\n` +
      'The box serves its users on its former version, proven healthy. Nothing was lost.',
  })

export const rollbackFailed = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'rollback_failed',
    title: `${of.slug} is DOWN: its update failed and so did the way back`,
    body:
      `The update of ${of.slug} in rollout ${of.rolloutId} failed, and bringing it back failed too.\n${because(of.error)}\n` +
      'Its users see a maintenance notice. The box rests stopped with its former data, its new data and its snapshot; nothing of it is deleted ' +
      'until a person has decided.',
  })

/** An agent took an update and says nothing. */
export const deadlineOverdue = (of: Readonly<{ rolloutId: string; slug: string; attempt: number; host: string }>): NewAlert =>
  aboutBox(of, {
    kind: 'deadline_overdue',
    title: `${of.slug}: nothing is heard of its update`,
    body:
      `The agent on ${of.host} took the update of ${of.slug} in rollout ${of.rolloutId} and has not said in time how it ended.\n` +
      `The agent decides alone whether the update is kept or taken back, also without the daemon. The box may be shut to its users until then. ` +
      `Look whether ${of.host} runs; its answer is taken whenever it comes.`,
  })

export const undoFailed = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'undo_failed',
    title: `${of.slug} could not be brought back`,
    body:
      `Rollout ${of.rolloutId} is being taken back, and ${of.slug} could not be.\n${because(of.error)}\n` +
      'The snapshots from before the update and from before the way back are kept until a person has decided.',
  })

/** A box was open to its users when it turned out that it is not proven. */
export const boxReopenedUnproven = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'box_reopened_unproven',
    title: `${of.slug} is open to its users, but not proven healthy`,
    body:
      `${of.slug} was opened early in rollout ${of.rolloutId}, as its fence mode asks for, and did not stay healthy.\n${because(of.error)}\n` +
      'Messages may have been written since, so nothing goes back by itself. Its snapshot from before the update is kept.',
  })

/** Its agent calls the update done, or taken back, and what runs bears it out for an image that nobody asked for. */
export const wrongImage = (of: OfBox): NewAlert =>
  aboutBox(of, {
    kind: 'wrong_image',
    title: `${of.slug} runs an image that it should not`,
    body:
      `After its update in rollout ${of.rolloutId} another image runs in ${of.slug} than was planned, or than ran before.\n${because(of.error)}\n` +
      'Its users may be on it already, and nothing goes back by itself. Find out where that image comes from before any box is updated again. ' +
      'The snapshot of the box from before the update is kept.',
  })

/** The engine paused it, or a person (`by`). `held`: as it was asked to. */
type Paused = Readonly<{ rolloutId: string; reason: string; held?: boolean; by?: string }>

const pauseTitle = ({ rolloutId, held, by }: Paused): string => {
  if (by !== undefined) return `Rollout ${rolloutId} was paused by ${said(by, 80)}`
  return held ? `Rollout ${rolloutId} holds as asked` : `Rollout ${rolloutId} paused and waits for you`
}

/** Somebody meant it to rest. */
const isMeant = ({ held, by }: Paused): boolean => held === true || by !== undefined

export const rolloutPaused = (of: Paused): NewAlert => ({
  kind: 'rollout_paused',
  key: `rollout_paused:${of.rolloutId}`,
  subject: of.rolloutId,
  severity: isMeant(of) ? 'info' : 'warning',
  title: pauseTitle(of),
  body:
    `${of.by === undefined ? '' : 'Reason: '}${said(typed(of.reason), 1500)}\nNo further box is begun. Boxes that are done stay as they are; boxes under way finish.\n` +
    `To go on: tenantry rollouts resume ${of.rolloutId}${isStuck(of.reason) ? ' --skip-failed' : ''}\nTo end it: tenantry rollouts abort ${of.rolloutId}`,
  command: isMeant(of) ? `tenantry rollouts resume ${of.rolloutId}` : `tenantry rollouts show ${of.rolloutId}`,
})

/** The reason names the field of the API; who reads mail types. */
const typed = (reason: string): string => reason.replace('(skipFailed)', '(--skip-failed)')

/** A box that could not be restored is not tried again: resumed without a word about it, the rollout is refused. */
const isStuck = (reason: string): boolean => reason.includes('Next: mend by hand what could not be restored')

type RolledBack = Readonly<{ rolloutId: string; by: string; reason: string; boxes: 'none' | 'images' | 'snapshot' }>

const backward = {
  none: 'Boxes that are updated stay so.',
  images: 'Updated boxes go back to the images they had, newest first.',
  snapshot: 'Updated boxes go back to their snapshots from before, newest first: what was written since is lost there.',
} as const

export const rolloutRolledBack = (of: RolledBack): NewAlert => ({
  kind: 'rollout_rolled_back',
  key: `rollout_rolled_back:${of.rolloutId}`,
  subject: of.rolloutId,
  severity: of.boxes === 'none' ? 'info' : 'warning',
  title: `Rollout ${of.rolloutId} was rolled back by ${said(of.by, 80)}`,
  body: `Reason: ${said(of.reason)}\n${backward[of.boxes]} No further box is begun.`,
  command: `tenantry rollouts show ${of.rolloutId}`,
})

type Emergency = Readonly<{ rolloutId: string; cveId: string; by: string; reason: string; boxes: number }>

export const emergencyCreated = (of: Emergency): NewAlert => ({
  kind: 'emergency_created',
  key: `emergency_created:${of.rolloutId}`,
  subject: of.rolloutId,
  severity: 'warning',
  title: `Emergency ${of.cveId}: ${plural(of.boxes, 'box', 'boxes')} to be updated`,
  body:
    `${said(of.by, 120)} made the emergency rollout ${of.rolloutId}.\nReason: ${said(of.reason)}\n` +
    'It is queued; nothing is updated before it is started. Maintenance windows will not hold it.',
  command: `tenantry rollouts show ${of.rolloutId}`,
})

type Started = Readonly<{ rolloutId: string; cveId: string; by: string; paused: readonly string[]; stoppedUndos: readonly string[] }>

export const emergencyStarted = (of: Started): NewAlert => ({
  kind: 'emergency_started',
  key: `emergency_started:${of.rolloutId}`,
  subject: of.rolloutId,
  severity: 'warning',
  title: `Emergency ${of.cveId} has started`,
  body:
    `${said(of.by, 120)} started the emergency rollout ${of.rolloutId}. Maintenance windows do not hold it.\n` +
    (of.paused.length === 0 ? 'No other rollout was running.' : `Paused for it, to be resumed afterwards: ${of.paused.join(', ')}.`) +
    (of.stoppedUndos.length === 0
      ? ''
      : `\nNo more boxes are brought back of ${of.stoppedUndos.join(', ')}: decide about them afterwards.`),
  command: `tenantry rollouts watch ${of.rolloutId}`,
})
