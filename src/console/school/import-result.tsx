import type { ReactNode } from 'react'
import type { ImportLine, ImportOutcome } from '../../core/users/index.ts'
import { Button, Section, Status, TableHead, type Tone } from '../kit/index.ts'
import { download } from './download.ts'
import type { Part } from './import-parts.ts'
import { passwordsFile, reportFile, shownLines } from './import-report.ts'
import { germanReason } from './words/de-reasons.ts'
import { useLanguage, useWords } from './words.tsx'

const tones: Readonly<Record<ImportOutcome, Tone>> = {
  ...{ created: 'ok', would_create: 'ok', updated: 'ok', would_update: 'ok', existed: 'off' },
  ...{ adopted: 'waiting', disabled: 'warning', erased: 'warning', refused: 'failed' },
}

const maxShown = 300
const csv = 'text/csv;charset=utf-8'
/** Without it a spreadsheet takes the letters for those of an old encoding. */
const byteOrderMark = '\ufeff'

type Shown = Readonly<{ report: Part; onSave(): void; children: ReactNode }>

/** The report of an import: its counts, its passwords, and each line with its reason. */
export function ImportResult({ report, onSave, children }: Shown) {
  const { import: words } = useWords()
  const { dryRun, counts, notes, passwords, stopped, encoding, lines } = report
  const many = Object.keys(passwords).length
  const shown = shownLines(lines, maxShown)
  const savePasswords = () => {
    download('passwords.csv', byteOrderMark + passwordsFile(report), csv)
    onSave()
  }
  return (
    <>
      <Section title={dryRun ? words.checked : words.done} aside={dryRun ? words.checkedHint : undefined}>
        <p className="counts">
          {(Object.keys(counts) as ImportOutcome[])
            .filter((outcome) => counts[outcome] > 0)
            .map((outcome) => (
              <Status key={outcome} tone={tones[outcome]}>
                {counts[outcome]} {words.outcomes[outcome]}
              </Status>
            ))}
        </p>
        {encoding && <p className="dim">{words.encoding(encoding)}</p>}
        {notes.map((note) => (
          <p key={note} className="dim">
            <Reason text={note} />
          </p>
        ))}
        {stopped !== null && (
          <p role="alert">
            <Status tone="failed">
              {words.stopped} <Reason text={stopped} />
            </Status>
          </p>
        )}
        {children}
      </Section>
      {many > 0 && (
        <Section title={words.passwords(many)}>
          <p>{words.passwordsHint}</p>
          <p className="page-actions">
            <Button look="primary" onPress={savePasswords}>
              {words.downloadPasswords}
            </Button>
          </p>
        </Section>
      )}
      <Section
        title={words.outcome}
        aside={<Button onPress={() => download('report.csv', byteOrderMark + reportFile(report), csv)}>{words.report}</Button>}
      >
        {shown.length < lines.length && <p className="dim">{words.cut(shown.length, lines.length)}</p>}
        <Lines lines={shown} />
      </Section>
    </>
  )
}

/** A text of the daemon, in German where that is known. */
function Reason({ text }: Readonly<{ text: string }>) {
  const { language } = useLanguage()
  const german = language === 'de' ? germanReason(text) : undefined
  return german === undefined ? <span lang="en">{text}</span> : german
}

function Lines({ lines }: Readonly<{ lines: readonly ImportLine[] }>) {
  const { import: words, people } = useWords()
  return (
    <table className="plain-table stack" aria-label={words.outcome}>
      <TableHead titles={[people.username, people.name, words.line, words.outcome, words.reason]} />
      <tbody>
        {lines.map(({ line, localpart, displayName, outcome, reason }) => (
          <tr key={line}>
            <td>{localpart || '–'}</td>
            <td>{displayName}</td>
            <td data-label={words.line}>{line}</td>
            <td>
              <Status tone={tones[outcome]}>{words.outcomes[outcome]}</Status>
            </td>
            <td>{reason !== null && <Reason text={reason} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
