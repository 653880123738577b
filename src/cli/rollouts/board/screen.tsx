import { Box, Text } from 'ink'
import type { ReactNode } from 'react'
import { duration } from '../../../core/kit/index.ts'
import {
  type BoardModel,
  type Failure,
  type NextStep,
  type PhaseLine,
  type PhaseState,
  type RunningBox,
  stopText,
  updatedPercent,
  updatedText,
} from '../../../core/rollouts/index.ts'
import { clean, type Paint, padEnd, padStart, shorten } from '../../kit/index.ts'
import { layout, reasonRows, type Size, stepIndent, stepRows } from './layout.ts'

type Tint = Exclude<keyof Paint, 'bold' | 'dim'>

/** Text in a colour; plain without colour. */
function Tinted({ tint, colour, children }: { tint?: keyof Paint | undefined; colour: boolean; children: ReactNode }) {
  if (!colour || !tint) return <Text>{children}</Text>
  if (tint === 'dim') return <Text dimColor>{children}</Text>
  if (tint === 'bold') return <Text bold>{children}</Text>
  return <Text color={tint as Tint}>{children}</Text>
}

type Part<Of> = { part: Of; colour: boolean; width: number }

/** The whole board; never exceeds the rows and columns of the terminal. */
export function Screen({ model, size, colour, keys }: { model: BoardModel; size: Size; colour: boolean; keys: boolean }) {
  const width = Math.min(size.columns, 120)
  const shown = layout(model, { columns: width, rows: size.rows })
  return (
    <Box flexDirection="column" width={width}>
      <Title part={model} colour={colour} width={width} />
      <Gap />
      <Phases part={model.phases} colour={colour} width={width} />
      <Gap />
      <Bar part={model} colour={colour} width={width} />
      {model.queued && (
        <Tinted colour={colour} tint="yellow">
          {shorten(`waiting ${clean(model.queued)}`, width)}
        </Tinted>
      )}
      {model.waiting && <Waiting part={model.waiting} colour={colour} width={width} />}
      {shown.running.length > 0 && <Running part={shown.running} more={shown.moreRunning} colour={colour} width={width} />}
      {shown.failures.length > 0 && <Failures part={shown.failures} more={shown.moreFailures} colour={colour} width={width} />}
      <Outcome part={model} colour={colour} width={width} />
      {keys && <Foot part={model} colour={colour} width={width} />}
    </Box>
  )
}

const Gap = () => <Text> </Text>

function Title({ part: { id, word, tint, manifestRevision, elapsedMs, connected }, colour, width }: Part<BoardModel>) {
  const time = elapsedMs === undefined ? 'not started' : duration(elapsedMs)
  const right = connected ? `manifest ${manifestRevision}   ${time}` : 'connection lost, reconnecting'
  const room = width - id.length - word.length - 'Rollout '.length - 3
  return (
    <Text wrap="truncate">
      <Tinted colour={colour} tint="bold">{`Rollout ${id}`}</Tinted>
      {'   '}
      <Tinted colour={colour} tint={tint}>
        {word}
      </Tinted>
      <Tinted colour={colour} tint={connected ? 'dim' : 'yellow'}>
        {padStart(shorten(right, room - 2), room)}
      </Tinted>
    </Text>
  )
}

const phaseMarks = {
  done: ['✓', 'green'],
  running: ['●', 'cyan'],
  paused: ['‖', 'yellow'],
  failed: ['✗', 'red'],
  waiting: ['○', 'dim'],
  empty: ['·', 'dim'],
  'rolling back': ['↺', 'yellow'],
  'rolled back': ['↺', 'red'],
} as const satisfies Record<PhaseState, readonly [string, keyof Paint]>

function Phases({ part: phases, colour, width }: Part<readonly PhaseLine[]>) {
  const words = phases.map(({ phase, state, succeeded, total }) => ({
    phase,
    state,
    text: `${phaseMarks[state][0]} ${phase} ${succeeded}/${total}`,
  }))
  const fits = words.reduce((sum, { text }) => sum + text.length + 3, 0) - 3 <= width
  return (
    <Text wrap="truncate">
      {words.map(({ phase, state, text }, index) => (
        <Tinted key={phase} colour={colour} tint={phaseMarks[state][1]}>
          {`${index > 0 ? (fits ? '   ' : ' ') : ''}${fits ? text : `${phaseMarks[state][0]}${phase}`}`}
        </Tinted>
      ))}
    </Text>
  )
}

/** Updated boxes in the colour of the rollout, then failed ones in red. */
function Bar({ part: model, colour, width }: Part<BoardModel>) {
  const { progress, failedShare, etaMs, tint } = model
  const eta = etaMs === undefined ? '' : `   about ${duration(roughly(etaMs))} left`
  const words = `${padStart(String(updatedPercent(model)), 4)} %   ${updatedText(model)}${eta}`
  const cells = Math.max(8, Math.min(32, width - words.length))
  const filled = Math.round(progress * cells)
  const failed = Math.min(filled, Math.ceil(failedShare * cells))
  return (
    <Text wrap="truncate">
      <Tinted colour={colour} tint={tint}>
        {'━'.repeat(filled - failed)}
      </Tinted>
      <Tinted colour={colour} tint="red">
        {'╍'.repeat(failed)}
      </Tinted>
      <Tinted colour={colour} tint="dim">
        {'┄'.repeat(cells - filled)}
      </Tinted>
      {words}
    </Text>
  )
}

function Waiting({ part: { boxes, until }, colour, width }: Part<NonNullable<BoardModel['waiting']>>) {
  const subject = boxes === 1 ? '1 box waits for its maintenance window' : `${boxes} boxes wait for their maintenance windows, the first`
  return (
    <Tinted colour={colour} tint="yellow">
      {shorten(`${subject} until ${until.slice(0, 16).replace('T', ' ')} UTC`, width)}
    </Tinted>
  )
}

/** Rounds an estimate to its precision. */
function roughly(ms: number): number {
  const step = ms < 60_000 ? 5000 : ms < 10 * 60_000 ? 10_000 : 60_000
  return Math.max(step, Math.round(ms / step) * step)
}

function Running({ part: boxes, more, colour, width }: Part<readonly RunningBox[]> & { more: number }) {
  const [slugs, steps] = [
    columnWidth(
      boxes.map(({ slug }) => slug),
      28,
    ),
    columnWidth(
      boxes.map(({ step }) => step),
      14,
    ),
  ]
  const times = columnWidth(
    boxes.map(({ elapsedMs }) => duration(elapsedMs)),
    14,
  )
  const rest = Math.max(0, width - slugs - steps - times - 8)
  return (
    <Box flexDirection="column" marginTop={1}>
      <Tinted colour={colour} tint="bold">
        In progress
      </Tinted>
      {boxes.map(({ slug, step, detail, elapsedMs }) => (
        <Text key={slug} wrap="truncate">
          {`  ${cell(slug, slugs)}  `}
          <Tinted colour={colour} tint={step === 'rolling back' ? 'yellow' : 'cyan'}>
            {cell(step, steps)}
          </Tinted>
          <Tinted colour={colour} tint="dim">
            {`  ${cell(clean(detail), rest)}`}
          </Tinted>
          {`  ${padStart(duration(elapsedMs), times)}`}
        </Text>
      ))}
      {more > 0 && <Tinted colour={colour} tint="dim">{`  and ${more} more`}</Tinted>}
    </Box>
  )
}

const columnWidth = (texts: readonly string[], max: number) => Math.min(max, Math.max(0, ...texts.map((text) => text.length)))
const cell = (text: string, width: number) => padEnd(shorten(text, width), width)

function Failures({ part: failures, more, colour, width }: Part<readonly Failure[]> & { more: number }) {
  const [slugs, outcomes] = [
    columnWidth(
      failures.map(({ slug }) => slug),
      28,
    ),
    columnWidth(failures.map(outcomeOf), 22),
  ]
  const rest = Math.max(0, width - slugs - outcomes - 6)
  return (
    <Box flexDirection="column" marginTop={1}>
      <Tinted colour={colour} tint="bold">
        Failed
      </Tinted>
      {failures.map((failure) => (
        <Text key={failure.slug} wrap="truncate">
          {`  ${cell(failure.slug, slugs)}  `}
          <Tinted colour={colour} tint={failure.waived ? 'dim' : 'red'}>
            {cell(outcomeOf(failure), outcomes)}
          </Tinted>
          {`  ${shorten(clean(failure.reason), rest)}`}
        </Text>
      ))}
      {more > 0 && <Tinted colour={colour} tint="dim">{`  and ${more} more`}</Tinted>}
    </Box>
  )
}

const outcomeOf = ({ outcome, waived }: Failure) => (waived ? `${outcome}, skipped` : outcome)

function Outcome({ part: model, colour, width }: Part<BoardModel>) {
  const { status, tint, reason, next } = model
  const indent = stepIndent(model)
  return (
    <>
      {reason && (
        <Box marginTop={1}>
          <Tinted colour={colour} tint={tint}>
            {reasonRows(stopText(status, clean(reason)), width).join('\n')}
          </Tinted>
        </Box>
      )}
      {next.length > 0 && <Gap />}
      {next.map((step) => (
        <Step key={step.command} part={step} indent={indent} colour={colour} width={width} />
      ))}
    </>
  )
}

function Step({ part: step, indent, colour, width }: Part<NextStep> & { indent: number }) {
  const { beside, rows } = stepRows(step, indent, width)
  return (
    <Text>
      <Tinted colour={colour} tint="dim">
        {beside ? padEnd(`  ${step.label}`, indent) : `  ${step.label}:\n`}
      </Tinted>
      {rows.join('\n')}
    </Text>
  )
}

const Foot = ({ part: { status }, colour }: Part<BoardModel>) => (
  <Box marginTop={1}>
    <Tinted colour={colour} tint="dim">
      {status === 'paused' || status === 'queued' ? 'q: quit' : 'q: quit (rollout continues)'}
    </Tinted>
  </Box>
)
