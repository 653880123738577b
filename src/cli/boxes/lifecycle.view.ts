import type { BoxDetail, BoxMove, BoxRemoval } from '../../core/boxes/index.ts'
import { duration } from '../../core/kit/index.ts'
import { ago, clean, fields, type Paint, type Style, sections, stamp } from '../kit/index.ts'
import { stateText } from './await-command.ts'

const moveTint = (state: BoxMove['state']): keyof Paint =>
  state === 'done' || state === 'confirming' ? 'green' : state === 'stranded' || state === 'failed' ? 'red' : 'yellow'

const moveHint = ({ state, from, to }: BoxMove, slug: string): string | undefined =>
  ({
    handing_over: undefined,
    taking_over: undefined,
    taking_back: undefined,
    removing: undefined,
    stranded: `${slug} runs nowhere: it rests on ${from}. Once that host is well: tenantry boxes move ${slug} --back`,
    confirming: `${slug} runs on ${to}. Look at it; then let the copy on ${from} go: tenantry boxes move ${slug} --confirm`,
    done: `${slug} runs on ${to}.`,
    given_back: `${slug} runs on ${from} as before.`,
    failed: `${slug} is on ${from} as before: tenantry boxes check ${slug}`,
  })[state]

export function moveView(move: BoxMove, style: Style, { slug }: { slug: string }): string {
  return sections(moveFields(move, style), moveHint(move, slug))
}

const moveFields = (move: BoxMove, style: Style): string =>
  fields(style, [
    ['move', `${clean(move.from)}${move.oldHostIsDead ? ' (dead)' : ''} → ${clean(move.to)}`],
    ['state', style.paint[moveTint(move.state)](stateText(move.state))],
    ['loses', move.losesMs ? style.paint.red(`what was written in the last ${duration(move.losesMs)} before`) : undefined],
    ['reason', clean(move.reason)],
    ['by', clean(move.by)],
    ['begun', stamp(move.startedAt, style.now)],
    ['copy kept', move.keepUntil && `until ${stamp(move.keepUntil, style.now)}`],
    ['error', move.error && `${clean(move.error.message)} [${clean(move.error.code)}]`],
  ])

const removalHint = ({ state, keepUntil }: BoxRemoval, slug: string): string | undefined =>
  ({
    handing_over: undefined,
    taking_back: undefined,
    erasing: undefined,
    kept: `${slug} is stopped; its data are kept until ${keepUntil?.slice(0, 10) ?? 'they are erased'}. Undo: tenantry boxes remove ${slug} --undo`,
    erased: `Nothing of ${slug} is left on its host; its snapshots stay as long as they are kept.`,
    undone: `${slug} runs again.`,
    failed: `${slug} runs as before.`,
  })[state]

export function removalView(removal: BoxRemoval, style: Style, { slug }: { slug: string }): string {
  return sections(removalFields(removal, style), removalHint(removal, slug))
}

const removalFields = (removal: BoxRemoval, style: Style): string =>
  fields(style, [
    ['removal', style.paint[removal.state === 'failed' ? 'red' : 'yellow'](stateText(removal.state))],
    ['reason', clean(removal.reason)],
    ['by', clean(removal.by)],
    ['begun', stamp(removal.startedAt, style.now)],
    ['last snapshot', removal.snapshotId?.slice(0, 8)],
    ['data kept', removal.keepUntil && `until ${stamp(removal.keepUntil, style.now)}`],
    ['error', removal.error && `${clean(removal.error.message)} [${clean(removal.error.code)}]`],
  ])

/** Old moves are history; the audit log has them. */
const movesShownMs = 30 * 86_400_000

/** What befalls a box beside updates, as far as there is any. */
export function lifecycleSections(box: BoxDetail, style: Style): string[] {
  const { slug, move, removal, maintenance, fence, openCommands } = box
  const recent = move && (move.finishedAt === null || style.now.getTime() - Date.parse(move.finishedAt) < movesShownMs)
  return [
    maintenance
      ? style.paint.yellow(`In maintenance by ${clean(maintenance.by)}, ${ago(maintenance.since, style.now)}: ${clean(maintenance.reason)}`)
      : '',
    fence ? fenceLine(fence, slug, style) : '',
    ...openCommands.map((command) => commandLine(command, style)),
    recent ? moveView(move, style, { slug }) : '',
    removal && (removal.state !== 'undone' || removal.error) ? removalView(removal, style, { slug }) : '',
  ]
}

function fenceLine({ holder, since, overdueSince }: NonNullable<BoxDetail['fence']>, slug: string, { paint, now }: Style): string {
  const line = `Fenced by ${fenceHolder(clean(holder ?? 'somebody'))} ${ago(since, now)}`
  const rollout = rolloutOf(holder)
  if (!overdueSince) return `${paint.yellow(line)}${rollout ? `\nWhat became of it: tenantry rollouts show ${rollout} --box ${slug}` : ''}`
  return `${paint.red(`${line}: too long.`)} Is its host well, and its agent? Who will never come back for it: tenantry boxes release ${slug} --reason '…'`
}

/** The rollout whose step keeps it shut, if it is one. */
const rolloutOf = (holder: string | null): string | undefined => /^(ro_[a-z0-9]+|cve-[a-z0-9-]+)\./.exec(holder ?? '')?.[1]

/** Agents say it as a command's name: `ro_….anna-schule.1.update`, or `rmv_….hand_over.1` of a move or removal. */
function fenceHolder(holder: string): string {
  const [id = '', second = '', , kind] = holder.split('.')
  if (kind) return `the ${kind.replaceAll('-', ' ')} of rollout ${id}`
  return second ? `the ${second.replaceAll('_', ' ')} of ${id.startsWith('rmv_') ? 'removal' : 'move'} ${id}` : holder
}

const commandLine = (
  { commandId, kind, status, host, since, deadlineAt }: BoxDetail['openCommands'][number],
  { paint, now }: Style,
): string =>
  status === 'expired'
    ? paint.red(
        `${clean(kind)} on ${clean(host)}, since ${ago(since, now)}, has not said how it ended; its time was up ${ago(deadlineAt, now)} (${clean(commandId)})`,
      )
    : `${clean(kind)} ${status} on ${clean(host)}, ${ago(since, now)}, until ${stamp(deadlineAt, now)} at the latest (${clean(commandId)})`
