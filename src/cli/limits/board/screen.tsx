import { Box, Text } from 'ink'
import type { RateLimits } from '../../../core/limits/index.ts'
import { padStart, type Style, shorten } from '../../kit/index.ts'
import { limitsView } from '../limits.view.ts'

/** What is known while somebody looks: the last answer, and why there is no newer one. */
export type TopState = Readonly<{ answer: RateLimits | undefined; trouble: string | undefined }>

type Shown = Readonly<{ state: TopState; style: Style; rows: number; keys: boolean }>

/** Title, a line of trouble, the empty lines, what to press, and the row that the cursor rests on. */
const frameRows = 7

/** How many tenants fit below each other. */
export const fitting = (rows: number): number => Math.max(1, rows - frameRows - 1)

/** The whole board. It keeps within the terminal: never a line more than there are rows. */
export function Screen({ state: { answer, trouble }, style, rows, keys }: Shown) {
  const { paint, width, now } = style
  const where = answer && (answer.store === 'redis' ? 'all daemons' : 'this daemon')
  const right = `${where ? `${where}   ` : ''}${now.toISOString().slice(11, 19)} UTC`
  const title = 'Requests of the last minute'
  return (
    <Box flexDirection="column">
      <Text wrap="truncate">{`${paint.bold(title)}${paint.dim(padStart(right, width - title.length))}`}</Text>
      <Text> </Text>
      {answer && <Text wrap="truncate">{tableOf(answer, style, rows)}</Text>}
      {trouble && <Text wrap="truncate">{`\n${paint.yellow(shorten(trouble, width))}`}</Text>}
      {keys && <Text>{`\n${paint.dim('q leaves the board')}`}</Text>}
    </Box>
  )
}

const tableOf = (answer: RateLimits, style: Style, rows: number): string =>
  limitsView({ ...answer, tenants: answer.tenants.slice(0, fitting(rows)), nextCursor: null }, style)
