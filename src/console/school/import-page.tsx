import { useBlocker } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { ImportReport } from '../../core/users/index.ts'
import { ActionDialog, api, Button, Check, FileField, PageHeader, ProblemView, Sheet, useAttempt } from '../kit/index.ts'
import { asBase64 } from './download.ts'
import { losesOnLeaving, type Part, sendParts } from './import-parts.ts'
import { ImportResult } from './import-result.tsx'
import { queryClient } from './queries.ts'
import { leaveWords } from './words/import-leave.ts'
import { useLanguage, useWords } from './words.tsx'

type Options = Readonly<{ emails: boolean; invite: boolean; names: boolean; ignoreColumns: boolean }>
type Input = Options & Readonly<{ file: string }>

const maxBytes = 5_000_000

/** The part of a file from a line on. */
const sender =
  ({ file, emails, invite, names, ignoreColumns }: Input, dryRun: boolean) =>
  (fromLine: number): Promise<Part> => {
    const update = names ? ['names' as const] : []
    return api.people.importPeople({ body: { file, dryRun, fromLine, emails, invite: invite && emails, ignoreColumns, update } })
  }

/** One signal for each import, which ends with the page. */
function useEndOfPage(): () => AbortSignal {
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  return () => {
    running.current = new AbortController()
    return running.current.signal
  }
}

const always = () => true

export function Page() {
  const { import: words } = useWords()
  const [options, setOptions] = useState<Options>({ emails: false, invite: false, names: false, ignoreColumns: false })
  const [file, setFile] = useState<File>()
  const [input, setInput] = useState<Input>()
  const [report, setReport] = useState<Part>()
  const [saved, setSaved] = useState<Part>()
  const [isRunning, setRunning] = useState(false)
  const [isClosing, setClosing] = useState(false)
  const { busy, error, attempt } = useAttempt()
  const untilLeft = useEndOfPage()
  const loses = losesOnLeaving({ isRunning, report, saved })
  const blocker = useBlocker({ shouldBlockFn: always, disabled: !loses, withResolver: true })
  const set = (change: Partial<Options>) => setOptions((before) => ({ ...before, ...change }))
  const check = () => {
    if (!file || file.size > maxBytes) return
    attempt(async () => {
      const next = { ...options, file: await asBase64(file) }
      setReport(undefined)
      setReport(await sendParts({ send: sender(next, true), onPart: () => undefined, signal: untilLeft() }))
      setInput(next)
    })
  }
  const run = () => {
    if (!input) return
    setRunning(true)
    attempt(async () => {
      // Users that were created before a failure are shown: their passwords come once.
      await sendParts({ send: sender(input, false), onPart: setReport, signal: untilLeft() }).finally(() => {
        setRunning(false)
        return queryClient.invalidateQueries({ queryKey: ['people'] })
      })
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
            <FileField label={words.file} accept=".csv,text/csv,text/plain" onChange={setFile} />
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
        <ImportResult report={report} onSave={() => setSaved(report)}>
          {error !== undefined && <ProblemView error={error} />}
          <p className="page-actions">
            {report.dryRun && <RunButton report={report} busy={busy} onPress={run} />}
            <Button onPress={() => (loses ? setClosing(true) : again())} isDisabled={busy}>
              {words.again}
            </Button>
          </p>
        </ImportResult>
      )}
      {isClosing && <LeaveDialog onLeave={again} onClose={() => setClosing(false)} />}
      {blocker.status === 'blocked' && <LeaveDialog onLeave={blocker.proceed} onClose={blocker.reset} />}
    </>
  )
}

function LeaveDialog({ onLeave, onClose }: Readonly<{ onLeave(): void; onClose(): void }>) {
  const { title, text, confirm } = leaveWords[useLanguage().language]
  return <ActionDialog title={title} consequence={<p>{text}</p>} confirm={confirm} danger run={async () => onLeave()} onClose={onClose} />
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
