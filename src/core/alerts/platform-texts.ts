import { plural, printable } from '../kit/index.ts'
import type { NewAlert } from './alert.ts'
import { humanTime, quoted } from './rollout-texts.ts'

// Alerts about the audit log, jobs, request budgets, users and submissions.

type Head = Readonly<{ chain: string; count: number; hash: string; at: string; keyId: string; signature: string }>

/** Carries a signed checkpoint off the machine, so that a later change of the log can be proven. */
export const rolloutSigned = (of: Readonly<{ rolloutId: string; status: string; head: Head }>): NewAlert => {
  const { chain, count, hash, at, keyId, signature } = of.head
  return {
    kind: 'rollout_signed',
    key: `rollout_signed:${of.rolloutId}:${count}`,
    subject: of.rolloutId,
    severity: of.status === 'failed' ? 'warning' : 'info',
    title:
      of.status === 'failed'
        ? `Rollout ${of.rolloutId} was aborted; audit log signed`
        : `Rollout ${of.rolloutId} finished (${of.status.replace('_', ' ')}); audit log signed`,
    body:
      `The audit log of the rollout has ${count} entries and was signed at ${humanTime(at)} with key ${keyId}. No action is needed; keep this ` +
      'message. Saved to a file, the line below proves later changes of the log (`tenantry audit verify --checkpoint <file>`).\n' +
      JSON.stringify({ chain, count, hash, at, keyId, signature }),
    command: `tenantry rollouts show ${of.rolloutId}`,
  }
}

/** The log no longer contains entries that the daemon signed. */
export const auditBroken = (of: Readonly<{ chain: string; count: number; at: string }>): NewAlert => ({
  kind: 'audit_broken',
  key: `audit_broken:${of.chain}`,
  subject: of.chain,
  severity: 'critical',
  title: `The audit log (${of.chain}) was truncated or rewritten`,
  body:
    `At ${humanTime(of.at)} the chain ${of.chain} was signed with ${of.count} entries. The log no longer contains them.\n` +
    'The database was changed, or an older copy of it was restored. Boxes and rollouts are not affected. Keep the database as it is ' +
    'and compare it with a backup. The chain is not signed again until this is resolved.',
  command: 'tenantry audit verify --checkpoint audit-checkpoints.jsonl',
  standing: true,
})

/** `isDead`: abandoned after their last attempt. */
type LateJobs = Readonly<{ topic: string; count: number; since: string; isDead?: boolean }>

export const lateJobsSubject = 'jobs'

/** The changes are committed; their effects elsewhere are late. One for each topic: a job that waits for weeks hides no other one. */
export const jobsLate = (jobs: LateJobs): NewAlert => (jobs.isDead ? deadJobs(jobs) : waitingJobs(jobs))

/** With a key of its own: it opens when the alert of waiting jobs closes because they died. */
const deadJobs = ({ topic, count, since }: LateJobs): NewAlert => ({
  kind: 'followups_late',
  key: `followups_late:${topic}:dead`,
  subject: lateJobsSubject,
  severity: 'warning',
  title: `Jobs of ${topic} are dead`,
  body:
    `${plural(count, 'job')} of ${topic}, due since ${humanTime(since)}, failed every attempt. Nothing runs dead jobs by itself, so their changes ` +
    'do not reach other systems.\n' +
    `The list names the reason. Remove it, then run tenantry jobs retry --topic ${topic}. The alert closes when none is dead.`,
  command: `tenantry jobs list --topic ${topic} --state dead`,
  standing: true,
})

const waitingJobs = ({ topic, count, since }: LateJobs): NewAlert => ({
  kind: 'followups_late',
  key: `followups_late:${topic}`,
  subject: lateJobsSubject,
  severity: 'warning',
  title: `Jobs of ${topic} have been waiting for more than an hour`,
  body:
    `${plural(count, 'job')} of ${topic} since ${humanTime(since)}.\n` +
    'The changes are stored but have not reached other systems: a disabled user may still chat, a member may not be in a room yet, ' +
    'a cancelled subscription may charge again. The list names the reason, usually a chat server, object store or payment provider ' +
    'that does not answer, or a payment provider that rejects the key; the jobs run when that ends.',
  command: `tenantry jobs list --topic ${topic}`,
  standing: true,
})

export const cronFailedKey = (jobKey: string): string => `cron_failed:${jobKey}`

/** A cron whose next run comes too late for what this one did not do, or one of its jobs that is dead. */
export const cronFailed = ({ jobKey, reason }: Readonly<{ jobKey: string; reason: string }>): NewAlert => ({
  kind: 'cron_failed',
  key: cronFailedKey(jobKey),
  subject: jobKey,
  severity: 'warning',
  title: `The job ${jobKey} failed`,
  body:
    `${printable(reason).slice(0, 500)}\nWhat it has done stays, and nothing continues it before its next time.\n` +
    `Remove the cause, then run it: tenantry crons run ${jobKey}. The alert closes when it runs again.`,
  command: `tenantry crons history ${jobKey}`,
  standing: true,
})

/** Users notice it: above 80 % every request is delayed. */
export const budgetHigh = (of: Readonly<{ slug: string; percent: number; budget: number; since: string }>): NewAlert => ({
  kind: 'budget_high',
  key: `budget_high:${of.slug}`,
  subject: of.slug,
  severity: 'warning',
  title: `${of.slug} uses ${of.percent} % of its request budget`,
  body:
    `Since ${humanTime(of.since)} the users of ${of.slug} have used more than 80 % of the ${of.budget} requests a minute of its plan.\n` +
    'Above 80 % each request is delayed by up to two seconds; at 100 % requests are refused. Other tenants are not affected. ' +
    'Check for a client that polls in a loop; otherwise the tenant needs a larger plan.',
  command: `tenantry tenants show ${of.slug}`,
  standing: true,
})

type Refused = Readonly<{
  slug: string
  localpart: string
  status: 'active' | 'disabled' | 'erased'
  what: 'lock' | 'name' | 'account'
  /** The error of the chat server. */
  reason: string
}>

const consequences = {
  name: 'The display name in the chat differs from the platform.',
  account: 'The user is registered but has no chat account, so login fails.',
}

const lockConsequence = (status: Refused['status']): string => {
  if (status === 'erased') return 'The user is erased on the platform, but its chat account and messages remain.'
  return status === 'disabled'
    ? 'The user is disabled and the platform sessions have ended, but devices that are logged in to the chat may still chat.'
    : 'The user is enabled, but the chat may still refuse the login.'
}

const verbOf = (what: Refused['what'], status: Refused['status']): string => {
  if (what === 'account') return 'reset-password'
  if (what === 'name') return 'show'
  if (status === 'erased') return 'erase'
  return status === 'disabled' ? 'disable' : 'enable'
}

/** The job is retried for a while; most refusals repeat. */
export const chatRefused = ({ slug, localpart, status, what, reason }: Refused): NewAlert => ({
  kind: 'chat_refused',
  key: `chat_refused:${slug}/${localpart}:${what}`,
  subject: `${slug}/${localpart}`,
  severity: 'warning',
  title: `The chat server of ${slug} refuses the ${what} of ${localpart}`,
  body:
    `${what === 'lock' ? lockConsequence(status) : consequences[what]} Reason: ${quoted(reason)}.\n` +
    `No other user is affected. Fix the cause; ${what === 'name' ? 'the name is then synced automatically.' : 'then the command below syncs it again.'}`,
  command: `tenantry users ${verbOf(what, status)} ${slug} ${localpart}${what === 'lock' && status === 'disabled' ? ' --reason again' : ''}`,
})

/** Users whose chat account was missing after a restore. */
export const accountsRemade = ({ slug, count }: Readonly<{ slug: string; count: number }>): NewAlert => ({
  kind: 'accounts_remade',
  key: `accounts_remade:${slug}`,
  subject: slug,
  severity: 'warning',
  title: `${plural(count, 'user')} of ${slug} cannot log in after a restore`,
  body:
    'Their accounts are newer than the snapshot, so the restored chat server did not have them. They were created again under the same ' +
    'names with random passwords; messages written since the snapshot are lost. Roles and spaces are unchanged.\n' +
    'The command below lists them; `tenantry users reset-password` sets a new password. All other users have the password of the ' +
    'time of the snapshot.',
  command: `tenantry users list ${slug} --without-password`,
})

/** Users whose latest password change is newer than the restored snapshot. */
export const passwordsOld = ({ slug, count }: Readonly<{ slug: string; count: number }>): NewAlert => ({
  kind: 'passwords_old',
  key: `passwords_old:${slug}`,
  subject: slug,
  severity: 'warning',
  title: `${plural(count, 'user')} of ${slug} ${count === 1 ? 'has' : 'have'} an older password again after a restore`,
  body:
    'Their passwords were changed after the snapshot was taken, so the previous passwords are valid again. Anyone who knows one can log in.\n' +
    'The command below lists them; `tenantry users reset-password` sets a new password, or users change it themselves.',
  command: `tenantry users list ${slug} --old-password`,
})

type TriggerRoom = Readonly<{ slug: string; roomId: string }>

/** Members cannot encrypt a room of a space; an administrator of the box can. */
export const triggerRoomEncrypted = ({ slug, roomId }: TriggerRoom): NewAlert => ({
  kind: 'trigger_room_encrypted',
  key: `trigger_room_encrypted:${slug}/${roomId}`,
  subject: `${slug}/${roomId}`,
  severity: 'warning',
  title: `A room of ${slug} that starts runs is encrypted now`,
  body:
    `Boards of ${slug} start runs by messages in the room ${roomId}. It was encrypted, which cannot be reverted, so its messages start ` +
    'nothing any more. Other rooms and triggers are not affected. Create a new space for these messages, and publish the boards with its room.',
  command: `tenantry tenants show ${slug}`,
  standing: true,
})

/** A gap that is too large, or a chat server that forgot what was read. */
export const triggerMessagesUnread = ({ slug, roomId }: TriggerRoom): NewAlert => ({
  kind: 'trigger_messages_unread',
  key: `trigger_messages_unread:${slug}/${roomId}`,
  subject: `${slug}/${roomId}`,
  severity: 'warning',
  title: `Messages in a room of ${slug} were not read`,
  body:
    `Boards of ${slug} start runs by messages in the room ${roomId}. Some of its messages were not read: there were more ` +
    'than 1,000, or the chat server did not return them. Reading continues with the newest messages. Ask in the room whether a run is missing, ' +
    'and start it by hand.',
  command: `tenantry tenants show ${slug}`,
})

export const reviewDueKey = (submissionId: string): string => `review_due:${submissionId}`

/** The receipt promised the vendor an answer within 2 working days. */
export const reviewDue = ({ submissionId, name }: Readonly<{ submissionId: string; name: string }>): NewAlert => ({
  kind: 'review_due',
  key: reviewDueKey(submissionId),
  subject: submissionId,
  severity: 'warning',
  title: `The submission ${printable(name).slice(0, 50)} has waited a day for a review`,
  body:
    'Its vendor was promised an answer within 2 working days.\n' +
    'A reviewer approves it, asks for changes or rejects it. The alert closes then.',
  command: `tenantry marketplace submissions show ${submissionId}`,
})
