import {
  type BoxDetail,
  type BoxMove,
  type BoxRemoval,
  isMoveShown,
  isRemovalShown,
  moveHint,
  removalHint,
} from '../../core/boxes/index.ts'
import { duration } from '../../core/kit/index.ts'
import { ago, clean, fields, type Paint, type Style, sections, stamp } from '../kit/index.ts'
import { stateText } from './await-command.ts'
import { importView } from './import.view.ts'

const moveTint = (state: BoxMove['state']): keyof Paint =>
  state === 'done' || state === 'confirming' ? 'green' : state === 'stranded' || state === 'failed' ? 'red' : 'yellow'

export function moveView(move: BoxMove, style: Style, { slug }: { slug: string }): string {
  return sections(moveFields(move, style), moveHint(move, slug))
}

const moveFields = (move: BoxMove, style: Style): string =>
  fields(style, [
    ['move', `${clean(move.from)}${move.oldHostIsDead ? ' (dead)' : ''} → ${clean(move.to)}`],
    ['state', style.paint[moveTint(move.state)](stateText(move.state))],
    ['data loss', move.losesMs ? style.paint.red(`the last ${duration(move.losesMs)} before the move`) : undefined],
    ['reason', clean(move.reason)],
    ['by', clean(move.by)],
    ['started', stamp(move.startedAt, style.now)],
    ['copy expires', move.keepUntil && stamp(move.keepUntil, style.now)],
    ['error', move.error && `${clean(move.error.message)} [${clean(move.error.code)}]`],
  ])

export function removalView(removal: BoxRemoval, style: Style, { slug }: { slug: string }): string {
  return sections(removalFields(removal, style), removalHint(removal, slug))
}

const removalFields = (removal: BoxRemoval, style: Style): string =>
  fields(style, [
    ['removal', style.paint[removal.state === 'failed' ? 'red' : 'yellow'](stateText(removal.state))],
    ['reason', clean(removal.reason)],
    ['by', clean(removal.by)],
    ['started', stamp(removal.startedAt, style.now)],
    ['last snapshot', removal.snapshotId?.slice(0, 8)],
    ['remarks', removal.remarks.map(clean).join('; ')],
    ['data expires', removal.keepUntil && stamp(removal.keepUntil, style.now)],
    ['error', removal.error && `${clean(removal.error.message)} [${clean(removal.error.code)}]`],
  ])

/** Maintenance, fence, open commands, move and removal of a box. */
export function lifecycleSections(box: BoxDetail, style: Style): string[] {
  const { slug, move, removal, maintenance, fence, openCommands } = box
  return [
    maintenance
      ? style.paint.yellow(`In maintenance by ${clean(maintenance.by)}, ${ago(maintenance.since, style.now)}: ${clean(maintenance.reason)}`)
      : '',
    fence ? fenceLine(fence, slug, style) : '',
    ...openCommands.map((command) => commandLine(command, style)),
    move && isMoveShown(move, style.now) ? moveView(move, style, { slug }) : '',
    box.import ? importView(box.import, style, { slug }) : '',
    removal && isRemovalShown(removal) ? removalView(removal, style, { slug }) : '',
  ]
}

function fenceLine({ holder, since, overdueSince }: NonNullable<BoxDetail['fence']>, slug: string, { paint, now }: Style): string {
  const line = `Fenced by ${fenceOwner(clean(holder ?? 'unknown'))} ${ago(since, now)}`
  const rollout = rolloutOf(holder)
  if (!overdueSince) return `${paint.yellow(line)}${rollout ? `\nDetails: tenantry rollouts show ${rollout} --box ${slug}` : ''}`
  return `${paint.red(`${line}: overdue.`)} fix: check its host and agent; if the owner is permanently gone: tenantry boxes release ${slug} --reason '…'`
}

/** The rollout that owns the fence, if any. */
const rolloutOf = (holder: string | null): string | undefined => /^(ro_[a-z0-9]+|cve-[a-z0-9-]+)\./.exec(holder ?? '')?.[1]

/** Reads a command id: `ro_….anna-schule.1.update` of a rollout, or `rmv_….hand_over.1` of a move or removal. */
function fenceOwner(holder: string): string {
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
        `${clean(kind)} on ${clean(host)}, started ${ago(since, now)}, has not reported its end; expired ${ago(deadlineAt, now)} (${clean(commandId)})`,
      )
    : `${clean(kind)} ${status} on ${clean(host)}, ${ago(since, now)}, expires ${stamp(deadlineAt, now)} (${clean(commandId)})`
