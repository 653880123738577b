import { alertKey, type NewAlert } from '../../core/alerts/index.ts'
import { printable } from '../../core/kit/index.ts'

export const cronFailedKey = (jobKey: string): string => alertKey('jobs_stuck', `cron:${jobKey}`)

/** A cron whose next run comes too late for what this one did not do, or one of its jobs that is dead. */
export const cronFailed = (jobKey: string, reason: string): NewAlert => ({
  kind: 'jobs_stuck',
  key: cronFailedKey(jobKey),
  subject: jobKey,
  title: `The job ${jobKey} failed`,
  body:
    `${printable(reason).slice(0, 500)}\nWhat it has done stays, and nothing continues it before its next time.\n` +
    `Remove the cause, then run it: tenantry crons run ${jobKey}. The alert closes when it runs again.`,
  command: `tenantry crons history ${jobKey}`,
  standing: true,
})
