import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { Submission } from '../../core/marketplace/index.ts'
import {
  Ago,
  api,
  type Decision,
  DecisionPage,
  Icon,
  KeyValues,
  queryClient,
  quoted,
  Scroll,
  Section,
  Status,
  useMay,
} from '../kit/index.ts'
import { priceWords, submissionTones } from './queries.ts'
import { Screenshots } from './screenshots.tsx'
import { words } from './words.ts'

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string }
  const submission = useQuery({
    queryKey: ['marketplace', 'submission', id],
    queryFn: () => api.marketplace.showMarketplaceSubmission({ params: { id } }),
  })
  const { why } = useMay('marketplace', 'approveMarketplaceSubmission')
  const found = submission.data
  return (
    <DecisionPage
      query={submission}
      title={found?.name ?? id}
      answer={found && <Status tone={submissionTones[found.status]}>{found.status.replaceAll('-', ' ')}</Status>}
      decisions={found ? decisionsOf(found) : []}
      why={why}
    >
      {(one) => <Details submission={one} />}
    </DecisionPage>
  )
}

function decisionsOf({ id, name, round, vendors, status }: Submission): readonly Decision[] {
  const again = () => queryClient.invalidateQueries({ queryKey: ['marketplace'] })
  const params = { id }
  const sendBack = (verb: string, action: 'reject' | 'request-changes', consequence: string) => ({
    ...{ verb, title: words.statusTitle(name, verb), consequence, reason: 'required' as const },
    cli: (reason: string) => `tenantry marketplace submissions ${action} ${id} --notes ${quoted(reason)}`,
  })
  const approval = (verb: string, consequence: string, target: Readonly<{ vendorId?: string | null; itemId?: string }>): Decision => ({
    ...{ verb, title: words.statusTitle(name, verb), consequence },
    cli: () =>
      `tenantry marketplace submissions approve ${id} --round ${round}${target.vendorId === undefined ? '' : ` --vendor ${target.vendorId ?? 'new'}`}${target.itemId ? ` --item ${target.itemId}` : ''}`,
    run: () => api.marketplace.approveMarketplaceSubmission({ params, body: { round, ...target } }).then(again),
  })
  const reject: Decision = {
    ...sendBack(words.reject, 'reject', words.rejectConsequence),
    look: 'danger',
    run: (reason) => api.marketplace.rejectMarketplaceSubmission({ params, body: { reason } }).then(again),
  }
  if (status === 'needs-changes') return [reject]
  if (status !== 'pending') return []
  return [
    reject,
    {
      ...sendBack(words.requestChanges, 'request-changes', words.changesConsequence),
      run: (reason) => api.marketplace.requestMarketplaceChanges({ params, body: { reason } }).then(again),
    },
    ...vendors.flatMap((vendor) => [
      ...vendor.items.map((item) =>
        approval(words.approveNext(item.name, item.version), words.approveNextConsequence, { vendorId: vendor.id, itemId: item.id }),
      ),
      approval(words.approveJoin(vendor.name), words.approveConsequence, { vendorId: vendor.id }),
    ]),
    vendors.length === 0
      ? { ...approval(words.approve, words.approveConsequence, {}), look: 'primary' as const }
      : approval(words.approveSecond, words.approveSecondConsequence, { vendorId: null }),
  ]
}

const Details = ({ submission }: Readonly<{ submission: Submission }>) => (
  <>
    <KeyValues
      facts={[
        ['Type', `${submission.itemType}, ${submission.category}`],
        ['Version', submission.version],
        ['Price', priceWords(submission)],
        ['Vendor', `${submission.vendorName}, ${submission.vendorEmail} (${submission.vendorCountry})`],
        [
          'Address',
          <Status key="proven" tone={submission.proven ? 'ok' : 'warning'}>
            {submission.proven ? words.proven : words.unproven}
          </Status>,
        ],
        ['New version of', submission.forItem && `${submission.forItem.name} ${submission.forItem.version}`],
        ['Submitted', <Ago key="created" at={submission.createdAt} />],
        ['Review', submission.reviewNotes],
      ]}
    />
    <p className="prose">{submission.description}</p>
    {submission.warnings.length > 0 && (
      <Section title={words.warnings}>
        <ul className="lines">
          {submission.warnings.map((warning) => (
            <li key={warning}>
              <Icon tone="warning" /> {warning}
            </li>
          ))}
        </ul>
      </Section>
    )}
    {submission.vendors.length > 0 && (
      <Section title={words.knownVendors}>
        <ul className="lines">
          {submission.vendors.map(({ id, name, items }) => (
            <li key={id}>
              {name} <span className="dim">{words.vendorItems(items.map((item) => `${item.name} ${item.version}`))}</span>
            </li>
          ))}
        </ul>
      </Section>
    )}
    {submission.screenshots.length > 0 && (
      <Section title={words.screenshots}>
        <Screenshots all={submission.screenshots} />
      </Section>
    )}
    <Section title={words.bundle}>
      <Scroll as="pre" className="source">
        {JSON.stringify(submission.bundle, null, 2)}
      </Scroll>
    </Section>
  </>
)
