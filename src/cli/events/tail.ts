import type { EventRecord } from '../../core/events/index.ts'
import { command, count, text } from '../kit/index.ts'
import { eventLine } from './events.view.ts'
import { followEvents } from './follow-events.ts'

export const tail = command(
  'tail',
  'Follow events as they are stored, until Ctrl-C',
  {
    tenant: text('--tenant <slug>', 'of one tenant only'),
    type: text('--type <type>', 'one type, such as space.created; a * at the end takes all that begin so'),
    last: count('--last <count>', 'begin with so many of the newest (default: 10, at most 500)', 0),
  },
  async ({ json, stdout, style, ...context }, { tenant, type, last = 10 }) => {
    const write = (record: EventRecord) => stdout.write(`${json ? JSON.stringify(record) : eventLine(record, style())}\n`)
    await followEvents(context, { tenant, type, last }, write)
  },
  () => '',
  { examples: ['tail --tenant anna-schule', "tail --type 'rollout.*' --json"] },
)
