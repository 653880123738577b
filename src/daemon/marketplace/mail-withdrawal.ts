import { z } from 'zod'
import { withdrawalMail } from '../../core/marketplace/index.ts'
import { textLanguageOf } from '../../core/texts/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { tenantById } from '../tenants/index.ts'
import { activeUsersWith, findUserById } from '../users/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { findItem, type ItemRecord } from './items.repo.ts'
import { findSubscription } from './subscriptions.repo.ts'

/** The first finds whom a withdrawal concerns, the second mails one of them. */
export const withdrawnTopic = 'marketplace.withdrawn'
export const withdrawnMailTopic = 'marketplace.withdrawn-mail'

const Withdrawn = z.object({ itemId: z.string(), withdrawnAt: z.string() })
/** `after`: organisations up to this id have their jobs. */
const OfSome = Withdrawn.extend({ after: z.string() })
const OfUser = Withdrawn.extend({ userId: z.string() })

type Withdrawn = Readonly<{ itemId: string; withdrawnAt: string }>

export const enqueueWithdrawal = ({ clock }: Pick<MarketplaceDeps, 'clock'>, tx: Tx, withdrawn: Withdrawn): Promise<void> =>
  enqueueJob(tx, clock, { topic: withdrawnTopic, payload: { ...withdrawn, after: '' } })

const tenantsAtOnce = 100

/** A mail for each user who manages the marketplace of an organisation that has the item: some organisations, and a job for the others. */
export const mailThoseWhoHaveIt =
  ({ db, clock, roles }: Pick<MarketplaceDeps, 'db' | 'clock' | 'roles'>): JobHandler =>
  async (payload) => {
    const { after, ...withdrawn } = OfSome.parse(payload)
    if (!isStill(await findItem(db, withdrawn.itemId), withdrawn)) return
    await db.transaction().execute(async (tx) => {
      const tenants = await tx
        .selectFrom('marketplace_subscriptions')
        .select('tenant_id as tenantId')
        .where('item_id', '=', withdrawn.itemId)
        .where('status', '=', 'active')
        .where('tenant_id', '>', after)
        .orderBy('tenant_id')
        .limit(tenantsAtOnce)
        .execute()
      for (const { tenantId } of tenants) {
        for (const userId of await activeUsersWith(tx, roles, { tenantId, capability: 'manageMarketplace' }))
          await enqueueJob(tx, clock, { topic: withdrawnMailTopic, payload: { ...withdrawn, userId }, pool: 'mail' })
      }
      const last = tenants[tenantsAtOnce - 1]
      if (last) await enqueueJob(tx, clock, { topic: withdrawnTopic, payload: { ...withdrawn, after: last.tenantId } })
    })
  }

/** An item that an operator publishes again is not withdrawn any more. */
const isStill = (item: ItemRecord | undefined, { withdrawnAt }: Withdrawn): item is ItemRecord => item?.withdrawnAt === withdrawnAt

/** The mail says how it is when it leaves: the queue holds neither addresses nor names. */
export const mailWithdrawal =
  ({ db, mailer, baseUrl }: Pick<MarketplaceDeps, 'db' | 'mailer' | 'baseUrl'>): JobHandler =>
  async (payload, { signal }) => {
    const { userId, ...withdrawn } = OfUser.parse(payload)
    const [item, user] = [await findItem(db, withdrawn.itemId), await findUserById(db, userId)]
    if (!isStill(item, withdrawn) || !user?.email || user.status !== 'active') return
    const [tenant, installed] = [
      await tenantById(db, user.tenantId),
      await findSubscription(db, { tenantId: user.tenantId, itemId: item.id }),
    ]
    if (tenant?.status !== 'active' || installed?.status !== 'active') return
    const mail = withdrawalMail(textLanguageOf(user.locale), {
      ...{ organisation: tenant.name, item: item.name, timeZone: tenant.timeZone ?? 'UTC', url: `${baseUrl}/school/modules` },
      paid: installed.priceModel === null ? undefined : installed.paidUntil,
    })
    await mailer.send({ id: `${item.id}_${userId}_${withdrawn.withdrawnAt.replace(/\D/g, '')}`, to: user.email, ...mail }, signal)
  }
