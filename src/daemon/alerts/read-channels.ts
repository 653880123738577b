import type { ChannelState } from '../../core/alerts/index.ts'
import type { AlertsDeps, Channel } from './channels.ts'

type Deps = Pick<AlertsDeps, 'db' | 'channels'>

/** Each channel with its rules and the outcome of its latest message. */
export async function channelStates({ db, channels }: Deps): Promise<{ channels: ChannelState[] }> {
  return { channels: await Promise.all(channels.map((channel) => stateOf(db, channel))) }
}

async function stateOf(db: AlertsDeps['db'], { channel, target, name, address, rules }: Channel): Promise<ChannelState> {
  const mine = db.selectFrom('alert_deliveries').where('channel', '=', channel).where('target', '=', target)
  const last = await mine
    .select(['status', 'sent_at', 'created_at', 'last_error'])
    .where('attempts', '>', 0)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  const held = await mine
    .select(({ fn }) => fn.countAll().as('count'))
    // Only held messages have a time, and the index finds them by it.
    .where('held_until', '>', '')
    .executeTakeFirstOrThrow()
  const { minSeverity, kinds, quietHours, dailyAt, timeZone } = rules
  return {
    ...{ name, channel, target, address, minSeverity, timeZone },
    ...{ kinds: kinds ? [...kinds] : null, quietHours: quietHours ?? null, dailyAt: dailyAt ?? null },
    held: Number(held.count),
    last: last ? { status: last.status, at: last.sent_at ?? last.created_at, error: last.last_error } : null,
  }
}
