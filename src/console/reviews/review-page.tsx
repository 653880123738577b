import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import {
  Ago,
  api,
  type Decision,
  DecisionPage,
  Icon,
  Id,
  KeyValues,
  queryClient,
  quoted,
  Scroll,
  Section,
  Status,
  useMay,
} from '../kit/index.ts'
import { words } from './words.ts'

type Shown = Awaited<ReturnType<typeof api.store.showReview>>
type Source = Shown['sources'][number]

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string }
  const review = useQuery({ queryKey: ['reviews', id], queryFn: () => api.store.showReview({ params: { id } }), refetchInterval: false })
  const decisions = useDecisions(id, review.data)
  const { why } = useMay('store', 'reviewSubmission')
  const shown = review.data
  return (
    <DecisionPage
      query={review}
      title={nameOf(id, shown)}
      answer={shown && <Status tone={shown.status === 'in_review' ? 'waiting' : 'off'}>{shown.status.replaceAll('_', ' ')}</Status>}
      decisions={shown?.status === 'in_review' ? decisions : []}
      why={why}
    >
      {(found) => <Review review={found} />}
    </DecisionPage>
  )
}

const nameOf = (id: string, shown: Shown | undefined) => (shown ? `${shown.moduleId} ${shown.version}` : id)

function useDecisions(id: string, shown: Shown | undefined): readonly Decision[] {
  const navigate = useNavigate()
  const name = nameOf(id, shown)
  const decide = async (action: 'approve' | 'reject', notes: string) => {
    await api.store.reviewSubmission({ params: { id }, body: { action, notes } })
    await queryClient.invalidateQueries({ queryKey: ['reviews'] })
    void navigate({ to: '/reviews' })
  }
  return [
    {
      ...{ verb: words.reject, look: 'danger', title: words.rejectTitle(name), consequence: words.rejectConsequence, reason: 'required' },
      cli: (reason) => `tenantry reviews reject ${id} --notes ${quoted(reason)}`,
      run: (reason) => decide('reject', reason),
    },
    {
      ...{
        verb: words.approve,
        look: 'primary',
        title: words.approveTitle(name),
        consequence: words.approveConsequence,
        reason: 'optional',
      },
      cli: () => `tenantry reviews approve ${id}`,
      run: (reason) => decide('approve', reason),
    },
  ]
}

const Review = ({ review }: Readonly<{ review: Shown }>) => (
  <>
    <KeyValues
      facts={[
        ['Developer', `${review.developer.name}, ${review.developer.organization}${review.developer.verified ? ', verified' : ''}`],
        ['Type', review.manifest.type],
        ['Description', review.manifest.description],
        [words.permissions, review.manifest.permissions.join(', ') || words.noPermissions],
        ['Submitted', <Ago key="created" at={review.createdAt} />],
        [
          'Scan',
          <Verdict
            key="scan"
            ok={review.scan.ok}
            text={review.scan.ok ? `${review.scan.files} files` : words.findings(review.scan.violations.length)}
          />,
        ],
        [
          'SHA-256',
          <Id key="sum" short={review.checksum.slice(0, 16)}>
            {review.checksum}
          </Id>,
        ],
        [
          'Package',
          <a key="package" href={review.downloadUrl} download>
            {words.download}
          </a>,
        ],
      ]}
    />
    {review.warnings.length > 0 && (
      <Section title={words.warnings}>
        <ul className="lines">
          {review.warnings.map((warning) => (
            <li key={warning}>
              <Icon tone="warning" /> {warning}
            </li>
          ))}
        </ul>
      </Section>
    )}
    <Changes difference={review.difference} />
    <Test test={review.test} />
    <Section title={words.source}>
      {review.sources.map((source) => (
        <SourceFile key={source.file} source={source} />
      ))}
    </Section>
  </>
)

const Verdict = ({ ok, text }: Readonly<{ ok: boolean; text: string }>) => <Status tone={ok ? 'ok' : 'failed'}>{text}</Status>

function Changes({ difference: { previousVersion, files, ...others } }: Readonly<{ difference: Shown['difference'] }>) {
  const lines = [
    ...(['permissions', 'subscribes', 'publishes'] as const).flatMap((kind) => [
      ...others[kind].added.map((name) => `+ ${kind} ${name}`),
      ...others[kind].removed.map((name) => `− ${kind} ${name}`),
    ]),
    ...files.added.map((name) => `+ ${name}`),
    ...files.removed.map((name) => `− ${name}`),
    ...files.changed.map((name) => `~ ${name}`),
  ]
  return (
    <Section title={words.changes(previousVersion)}>
      {lines.length === 0 ? (
        <p className="dim">{words.noChanges}</p>
      ) : (
        <ul className="lines">
          {lines.map((line) => (
            <li key={line}>
              <code>{line}</code>
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

const Test = ({ test }: Readonly<{ test: Shown['test'] }>) => (
  <Section title={words.test} aside={`${Math.round(test.ms)} ms`}>
    <ul className="lines">
      {test.ran.map(({ step, ok, ms, message }) => (
        <li key={step}>
          <Status tone={ok ? 'ok' : 'failed'}>{step}</Status>
          <span className="grow">{message}</span>
          <span className="aside num">{ms.toFixed(1)} ms</span>
        </li>
      ))}
    </ul>
    {test.log.length > 0 && (
      <details>
        <summary>{words.log}</summary>
        <pre className="source">{test.log.join('\n')}</pre>
      </details>
    )}
  </Section>
)

/** The source with each finding below its line. */
function SourceFile({ source: { file, bytes, text, findings } }: Readonly<{ source: Source }>) {
  const unplaced = findings.filter(({ line }) => line === undefined)
  return (
    <details open={findings.length > 0}>
      <summary>
        <code>{file}</code> <span className="dim">{bytes} bytes</span>{' '}
        {findings.length > 0 && <Status tone="failed">{words.findings(findings.length)}</Status>}
      </summary>
      {unplaced.map(({ rule, message }) => (
        <p key={`${rule} ${message}`}>
          <Status tone="failed">{`${rule}: ${message}`}</Status>
        </p>
      ))}
      {text === null ? <p className="dim">{words.notShown}</p> : <SourceLines text={text} findings={findings} />}
    </details>
  )
}

const SourceLines = ({ text, findings }: Readonly<{ text: string; findings: Source['findings'] }>) => (
  <Scroll as="pre" className="source">
    {text.split(/\r?\n/).map((line, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the number of a line is its key
      <span key={at}>
        <span className="line-number" aria-hidden="true">
          {at + 1}
        </span>
        {`${line}\n`}
        {findings
          .filter((finding) => finding.line === at + 1)
          .map(({ rule, message, column }) => (
            <span key={`${rule} ${column}`} className="finding">{`▲ ${column ? `column ${column}: ` : ''}${message} (${rule})\n`}</span>
          ))}
      </span>
    ))}
  </Scroll>
)
