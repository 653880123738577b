import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Submission } from '../../core/marketplace/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  Icon,
  KeyValues,
  Loaded,
  PageHeader,
  queryClient,
  quoted,
  Scroll,
  Section,
  Status,
  useMay,
} from '../kit/index.ts'
import { priceWords, submissionTones } from './queries.ts'
import { words } from './words.ts'

type Action = 'approve' | 'request-changes' | 'reject'

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string }
  const submission = useQuery({
    queryKey: ['marketplace', 'submission', id],
    queryFn: () => api.marketplace.showMarketplaceSubmission({ params: { id } }),
  })
  const [action, setAction] = useState<Action>()
  const { why } = useMay('marketplace', 'approveMarketplaceSubmission')
  const found = submission.data
  return (
    <>
      <PageHeader
        title={found?.name ?? id}
        answer={found && <Status tone={submissionTones[found.status]}>{found.status.replaceAll('-', ' ')}</Status>}
        actions={
          found?.status === 'pending' && (
            <>
              <Button look="danger" why={why} onPress={() => setAction('reject')}>
                {words.reject}…
              </Button>
              <Button why={why} onPress={() => setAction('request-changes')}>
                {words.requestChanges}…
              </Button>
              <Button look="primary" why={why} onPress={() => setAction('approve')}>
                {words.approve}…
              </Button>
            </>
          )
        }
      />
      <Loaded query={submission} rows={6}>
        {(one) => <Details submission={one} />}
      </Loaded>
      {action && found && <Decide submission={found} action={action} onClose={() => setAction(undefined)} />}
    </>
  )
}

const consequences = {
  approve: words.approveConsequence,
  'request-changes': words.changesConsequence,
  reject: words.rejectConsequence,
} as const satisfies Record<Action, string>
const verbs = { approve: words.approve, 'request-changes': words.requestChanges, reject: words.reject } as const satisfies Record<
  Action,
  string
>

function Decide({ submission: { id, name }, action, onClose }: Readonly<{ submission: Submission; action: Action; onClose(): void }>) {
  const calls = {
    approve: () => api.marketplace.approveMarketplaceSubmission({ params: { id }, body: {} }),
    'request-changes': (reason: string) => api.marketplace.requestMarketplaceChanges({ params: { id }, body: { reason } }),
    reject: (reason: string) => api.marketplace.rejectMarketplaceSubmission({ params: { id }, body: { reason } }),
  }
  return (
    <ActionDialog
      title={words.statusTitle(name, verbs[action])}
      consequence={consequences[action]}
      {...(action === 'approve' ? {} : { reason: 'required' as const })}
      confirm={verbs[action]}
      danger={action === 'reject'}
      cli={({ reason }) => `tenantry marketplace submissions ${action} ${id}${action === 'approve' ? '' : ` --notes ${quoted(reason)}`}`}
      run={async ({ reason }) => {
        await calls[action](reason)
        await queryClient.invalidateQueries({ queryKey: ['marketplace'] })
      }}
      onClose={onClose}
    />
  )
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
          <Status key="proven" tone={submission.proven ? 'ok' : 'waiting'}>
            {submission.proven ? words.proven : words.unproven}
          </Status>,
        ],
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
              <Icon tone="waiting" /> {warning}
            </li>
          ))}
        </ul>
      </Section>
    )}
    <Section title={words.bundle}>
      <Scroll as="pre" className="source">
        {JSON.stringify(submission.bundle, null, 2)}
      </Scroll>
    </Section>
  </>
)
