import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isProblem, type Problem } from '../../core/kit/index.ts'
import type { ShownProblem } from './api.ts'
import { Button, CliLine, Id } from './controls.tsx'
import { Icon, type Tone } from './status.tsx'
import { useKitTexts } from './texts.tsx'

/** Nothing to show, said calmly, with what to do if anything. */
export const Empty = ({ title, children, tone = 'ok' }: Readonly<{ title: string; children?: ReactNode; tone?: Tone }>) => (
  <div className="state">
    <p className="state-title">
      <Icon tone={tone} /> {title}
    </p>
    {children}
  </div>
)

/** Rows that are reserved while the first answer is away: nothing jumps when it arrives. */
export function Loading({ rows = 3, label }: Readonly<{ rows?: number; label?: string }>) {
  const texts = useKitTexts()
  return (
    <div className="loading" role="status" aria-label={label ?? texts.loading}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: placeholders are all alike
        <span key={row} className="placeholder" />
      ))}
    </div>
  )
}

const commandIn = (text: string | undefined) => /`(tenantryd? [^`]+)`/.exec(text ?? '')?.[1]

/** A typed failure: what failed, why, the next step, and the id to find it in the log. */
export function ProblemView({ error, onRetry }: Readonly<{ error: unknown; onRetry?: (() => void) | undefined }>) {
  const texts = useKitTexts()
  if (!isProblem(error)) return <Bug error={error} onRetry={onRetry} />
  const { title, what, fix } = texts.problem(error)
  const command = commandIn(error.message)
  return (
    <div className="problem" role="alert">
      <p className="problem-title">
        <Icon tone={error.code === 'FORBIDDEN' ? 'off' : 'failed'} /> {title} <code className="dim">{error.code}</code>
      </p>
      <p>{what}</p>
      <Details error={error} />
      {fix && (
        <p>
          {texts.next} {fix}
        </p>
      )}
      {command && <CliLine>{command}</CliLine>}
      <Footer requestId={(error as ShownProblem).requestId} onRetry={onRetry} />
    </div>
  )
}

function Bug({ error, onRetry }: Readonly<{ error: unknown; onRetry?: (() => void) | undefined }>) {
  const texts = useKitTexts()
  return (
    <div className="problem" role="alert">
      <p className="problem-title">
        <Icon tone="failed" /> {texts.pageFailed}
      </p>
      <p>{error instanceof Error ? error.message : String(error)}</p>
      <Footer onRetry={onRetry} />
    </div>
  )
}

function Details({ error: { details = [], violations = [] } }: Readonly<{ error: Problem }>) {
  const texts = useKitTexts()
  const lines = [
    ...details.map(({ path, reason }) => texts.detail(path, reason)),
    ...violations.map((one) => (typeof one === 'string' ? one : `${one.message} (${one.code})`)),
  ]
  if (lines.length === 0) return null
  return (
    <ul>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  )
}

function Footer({ requestId, onRetry }: Readonly<{ requestId?: string | undefined; onRetry?: (() => void) | undefined }>) {
  const texts = useKitTexts()
  return (
    <p className="problem-foot">
      {onRetry && <Button onPress={onRetry}>{texts.tryAgain}</Button>}
      {requestId && (
        <span className="dim">
          {texts.request} <Id>{requestId}</Id>
        </span>
      )}
    </p>
  )
}

/**
 * Loading, failed, or the data. Data that are here stay while a later answer fails, and the failure shows above them; that the daemon does
 * not answer is in the banner of the page.
 */
export function Loaded<Data>({
  query,
  rows,
  children,
}: Readonly<{ query: UseQueryResult<Data>; rows?: number; children(data: Data): ReactNode }>) {
  const retry = () => void query.refetch()
  if (query.data === undefined)
    return query.isError ? <ProblemView error={query.error} onRetry={retry} /> : <Loading {...(rows ? { rows } : {})} />
  return (
    <>
      {query.isError && !isProblem(query.error, 'UNREACHABLE') && <ProblemView error={query.error} onRetry={retry} />}
      {children(query.data)}
    </>
  )
}
