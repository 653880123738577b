import {
  type BoxDetail,
  type BoxImport,
  type BoxMove,
  type BoxRemoval,
  databaseCopyText,
  importHint,
  isMoveShown,
  isRemovalShown,
  type MoveState,
  moveHint,
  removalHint,
} from '../../core/boxes/index.ts'
import { duration } from '../../core/kit/index.ts'
import { Ago, type Fact, KeyValues, Section, Status, type Tone, useNow } from '../kit/index.ts'
import { ImportActions } from './import-actions.tsx'
import { MoveActions, RemovalActions } from './lifecycle-actions.tsx'
import { words } from './words.ts'

/** The import, the move and the removal of a box, as `boxes show` prints them, and the commands that its host works on. */
export function Lifecycle({ box: { slug, import: imported, move, removal, openCommands } }: Readonly<{ box: BoxDetail }>) {
  const now = useNow()
  return (
    <>
      {imported && (
        <Section title={words.import} aside={<ImportActions slug={slug} one={imported} />}>
          <KeyValues facts={importFacts(imported)} />
          <NextStep>{importHint(imported, slug)}</NextStep>
        </Section>
      )}
      {move && isMoveShown(move, now) && (
        <Section title={words.move} aside={<MoveActions slug={slug} move={move} />}>
          <KeyValues facts={moveFacts(move)} />
          <NextStep>{moveHint(move, slug)}</NextStep>
        </Section>
      )}
      {removal && isRemovalShown(removal) && (
        <Section title={words.removal} aside={<RemovalActions slug={slug} removal={removal} />}>
          <KeyValues facts={removalFacts(removal)} />
          <NextStep>{removalHint(removal, slug)}</NextStep>
        </Section>
      )}
      {openCommands.length > 0 && (
        <Section title={words.commands}>
          <ul className="lines">
            {openCommands.map(({ commandId, kind, status, host, since, deadlineAt }) => (
              <li key={commandId}>
                <Status tone={status === 'expired' ? 'failed' : 'working'}>{status}</Status>
                <span className="grow">
                  {kind} on {host}, started <Ago at={since} />, {status === 'expired' ? 'expired' : 'expires'} <Ago at={deadlineAt} />
                </span>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  )
}

const NextStep = ({ children }: Readonly<{ children: string | undefined }>) => children && <p>{children}</p>

const moveTone = (state: MoveState): Tone => {
  if (state === 'stranded' || state === 'failed') return 'failed'
  return state === 'done' || state === 'confirming' ? 'ok' : 'working'
}

const moveFacts = (move: BoxMove): readonly Fact[] => [
  ['Hosts', `${move.from}${move.oldHostIsDead ? ' (dead)' : ''} → ${move.to}`],
  ['State', <Status tone={moveTone(move.state)}>{move.state.replaceAll('_', ' ')}</Status>],
  ['Data loss', move.losesMs ? `the last ${duration(move.losesMs)} before the move` : undefined],
  ...causeOf(move),
  ['Copy expires', move.keepUntil && <Ago at={move.keepUntil} />],
]

const importTones: Readonly<Record<string, Tone>> = { imported: 'ok', finished: 'ok', failed: 'failed', undone: 'off' }

const importFacts = (one: BoxImport): readonly Fact[] => [
  ['State', <Status tone={importTones[one.state] ?? 'working'}>{one.state}</Status>],
  ['Stack', `${one.project} in ${one.folder}`],
  ['Database', one.facts?.databaseCopy && databaseCopyText(one.facts.databaseCopy)],
  ['Left out', one.dropped.length > 0 ? one.dropped.join(', ') : undefined],
  ['Addresses', one.facts?.addresses.join(', ')],
  ['Downtime', one.facts ? duration(one.facts.downtimeMs) : undefined],
  ...causeOf(one),
  ['Imported', one.importedAt && <Ago at={one.importedAt} />],
]

const removalFacts = (removal: BoxRemoval): readonly Fact[] => [
  ['State', <Status tone={removal.state === 'failed' ? 'failed' : 'waiting'}>{removal.state.replaceAll('_', ' ')}</Status>],
  ...causeOf(removal),
  ['Last snapshot', removal.snapshotId?.slice(0, 8)],
  ['Remarks', removal.remarks.length > 0 ? removal.remarks.join('; ') : undefined],
  ['Data expires', removal.keepUntil && <Ago at={removal.keepUntil} />],
]

const causeOf = ({ reason, by, startedAt, error }: BoxImport | BoxMove | BoxRemoval): readonly Fact[] => [
  ['Reason', reason],
  ['By', by],
  ['Started', <Ago at={startedAt} />],
  ['Error', error && `${error.message} [${error.code}]`],
]
