import { z } from 'zod'
import { type MailKind, maintenanceMail } from '../../core/maintenance/index.ts'
import { textLanguageOf } from '../../core/texts/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { tenantById } from '../tenants/index.ts'
import { activeUsersWith, findUserById } from '../users/index.ts'
import type { MaintenanceDeps } from './deps.ts'
import { type Notice, noticeById } from './notices.repo.ts'

export const maintenanceMailTopic = 'maintenance.mail'

const Payload = z.object({
  maintenanceId: z.string(),
  userId: z.string(),
  kind: z.enum(['announced', 'cancelled', 'reverted']),
  // As it was notified: the time may have moved since.
  startsAt: z.string().nullable(),
  endsBy: z.string().nullable(),
})

type About = Readonly<{ notice: Notice; kind: MailKind }>

/** A mail for each user who administers users. No one gets one about an emergency, and none is sent where no mail is set up. */
export async function enqueueMails({ clock, roles, mailer }: MaintenanceDeps, tx: Tx, { notice, kind }: About): Promise<void> {
  if (!mailer || notice.emergency === 1) return
  const administrators = await activeUsersWith(tx, roles, { tenantId: notice.tenant_id, capability: 'manageUsers' })
  const notified = { maintenanceId: notice.id, kind, startsAt: notice.starts_at, endsBy: notice.ends_by }
  for (const userId of administrators)
    await enqueueJob(tx, clock, { topic: maintenanceMailTopic, payload: { ...notified, userId }, pool: 'mail' })
}

/** The address and the language are read now: the queue holds none. One that was cancelled before its mail left is not announced any more. */
export const mailAdministrator =
  ({ db, mailer, windows, baseUrl }: MaintenanceDeps): JobHandler =>
  async (payload, { signal }) => {
    const { maintenanceId, userId, kind, ...notified } = Payload.parse(payload)
    const notice = await noticeById(db, maintenanceId)
    const user = await findUserById(db, userId)
    if (!mailer || !notice || !user?.email || user.status !== 'active' || (kind === 'announced' && notice.status !== 'planned')) return
    const tenant = await tenantById(db, notice.tenant_id)
    if (tenant?.status !== 'active') return
    const mail = maintenanceMail(kind, textLanguageOf(user.locale), {
      ...{ organisation: tenant.name, timeZone: tenant.timeZone ?? windows.timeZone, url: `${baseUrl}/school` },
      ...notified,
      ...{ expectedDowntimeMs: Number(notice.expected_downtime_ms), isMeasured: notice.measured === 1 },
    })
    await mailer.send({ id: `${maintenanceId}_${userId}_${kind}`, to: user.email, ...mail }, signal)
  }
