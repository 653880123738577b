import { useState } from 'react'
import type { ImportReport } from '../../core/users/index.ts'
import { api, Button, Check, PageHeader, ProblemView, Sheet, useAttempt } from '../kit/index.ts'
import { asBase64 } from './download.ts'
import { joined } from './import-report.ts'
import { ImportResult } from './import-result.tsx'
import { queryClient } from './queries.ts'
import { useWords } from './words.tsx'

type Options = Readonly<{ emails: boolean; invite: boolean; names: boolean; ignoreColumns: boolean }>
type Input = Options & Readonly<{ file: string }>

const maxBytes = 5_000_000

/** Sends a file as often as it takes: the daemon imports for some seconds, then says at which line to continue. */
async function sendAll({ file, emails, invite, names, ignoreColumns }: Input, dryRun: boolean, onPart: (report: ImportReport) => void) {
  let report: (ImportReport & Readonly<{ encoding: string | null }>) | undefined
  for (let fromLine: number | null = 1; fromLine !== null; ) {
    const body = { file, dryRun, fromLine, emails, invite: invite && emails, ignoreColumns, update: names ? ['names' as const] : [] }
    const part: NonNullable<typeof report> = await api.people.importPeople({ body })
    report = report ? { ...joined(report, part), encoding: part.encoding } : part
    onPart(report)
    fromLine = part.stopped === null ? part.nextLine : null
  }
  return report
}

export function Page() {
  const { import: words } = useWords()
  const [options, setOptions] = useState<Options>({ emails: false, invite: false, names: false, ignoreColumns: false })
  const [file, setFile] = useState<File>()
  const [input, setInput] = useState<Input>()
  const [report, setReport] = useState<ImportReport & { encoding?: string | null }>()
  const { busy, error, attempt } = useAttempt()
  const set = (change: Partial<Options>) => setOptions((before) => ({ ...before, ...change }))
  const check = () => {
    if (!file || file.size > maxBytes) return
    attempt(async () => {
      const next = { ...options, file: await asBase64(file) }
      setReport(undefined)
      setReport(await sendAll(next, true, () => undefined))
      setInput(next)
    })
  }
  const run = () => {
    if (!input) return
    attempt(async () => {
      // Users that were created before a failure are shown: their passwords come once.
      await sendAll(input, false, setReport).finally(() => queryClient.invalidateQueries({ queryKey: ['people'] }))
    })
  }
  const again = () => {
    setReport(undefined)
    setInput(undefined)
    setFile(undefined)
  }
  return (
    <>
      <PageHeader title={words.title} />
      {!report && (
        <div className="narrow-form">
          <Sheet hint={words.intro} onSubmit={check} submit={busy ? words.checking : words.check} busy={busy || !file} error={error}>
            <label className="field file">
              <span>{words.file}</span>
              <input type="file" accept=".csv,text/csv,text/plain" onChange={({ target }) => setFile(target.files?.[0])} />
            </label>
            {file && file.size > maxBytes && <p className="field-error">{words.tooLarge}</p>}
            <Check isSelected={options.emails} onChange={(emails) => set({ emails })}>
              {words.emails}
            </Check>
            {options.emails && (
              <Check isSelected={options.invite} onChange={(invite) => set({ invite })}>
                {words.invite}
              </Check>
            )}
            <Check isSelected={options.names} onChange={(names) => set({ names })}>
              {words.update}
            </Check>
            <Check isSelected={options.ignoreColumns} onChange={(ignoreColumns) => set({ ignoreColumns })}>
              {words.ignore}
            </Check>
          </Sheet>
        </div>
      )}
      {report && (
        <ImportResult report={report}>
          {error !== undefined && <ProblemView error={error} />}
          <p className="page-actions">
            {report.dryRun && <RunButton report={report} busy={busy} onPress={run} />}
            <Button onPress={again} isDisabled={busy}>
              {words.again}
            </Button>
          </p>
        </ImportResult>
      )}
    </>
  )
}

function RunButton({ report: { counts }, busy, onPress }: Readonly<{ report: ImportReport; busy: boolean; onPress(): void }>) {
  const { import: words } = useWords()
  const [created, updated] = [counts.would_create ?? 0, counts.would_update ?? 0]
  if (created + updated === 0) return <span className="dim">{words.nothing}</span>
  const text = updated > 0 ? words.runUpdate(created, updated) : words.run(created)
  return (
    <Button look="primary" onPress={onPress} isDisabled={busy}>
      {busy ? words.running : text}
    </Button>
  )
}
