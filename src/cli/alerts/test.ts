import type { TriedChannel } from '../../core/alerts/index.ts'
import { clean, command, oneOf } from '../kit/index.ts'

type Tried = Readonly<{ tried: readonly TriedChannel[] }>

export const test = command(
  'test',
  'Send a test to everybody who is set, and see what each channel says',
  { channel: oneOf('--channel <channel>', 'one channel only', ['mail', 'webhook']) },
  async ({ api, progress }, { channel }): Promise<Tried> => {
    const sending = await progress('sending')
    try {
      return await api.alerts.testAlerts({ body: channel ? { channel } : {} })
    } finally {
      sending.stop()
    }
  },
  ({ tried }, { paint }) =>
    tried
      .map(({ channel, target, ok, says }) => `${ok ? paint.green('✓') : paint.red('✗')} ${channel} to ${clean(target)}: ${clean(says)}`)
      .join('\n'),
  { exit: ({ tried }) => (tried.every(({ ok }) => ok) ? 0 : 1) },
)
