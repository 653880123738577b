import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { VendorSubmissionDetail } from '../../core/marketplace/index.ts'
import { ActionDialog, Ago, api, Button, KeyValues, Link, Loaded, PageHeader, Section } from '../kit/index.ts'
import { ContentForm, SubmissionStatus } from './parts.tsx'
import { refresh } from './queries.ts'
import { Screenshots } from './screenshots.tsx'

type Shown = Readonly<{ submission: VendorSubmissionDetail }>

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string }
  const query = useQuery({ queryKey: ['vendor', 'submission', id], queryFn: () => api.vendor.showVendorSubmission({ params: { id } }) })
  const [isAsked, setAsked] = useState(false)
  const submission = query.data
  return (
    <>
      <PageHeader
        title={submission ? `${submission.name} ${submission.version}` : id}
        answer={submission?.description}
        actions={
          submission?.confirmed === false && (
            <Button look="primary" onPress={() => setAsked(true)}>
              This was me…
            </Button>
          )
        }
      />
      <Loaded query={query}>{(one) => <Details submission={one} />}</Loaded>
      {submission && isAsked && <Confirm submission={submission} onClose={() => setAsked(false)} />}
    </>
  )
}

function Details({ submission }: Shown) {
  const { id, itemId, createdAt, reviewedAt, reviewNotes, warnings, confirmed, status } = submission
  return (
    <>
      <KeyValues
        facts={[
          ['Status', <SubmissionStatus key="status" submission={submission} />],
          ['Sent', <Ago key="sent" at={createdAt} />],
          ['Reviewed', reviewedAt && <Ago key="reviewed" at={reviewedAt} />],
          ['Item', itemId && <Link to={`/items/${itemId}`}>{itemId}</Link>],
          ['Id', id],
        ]}
      />
      {reviewNotes && (
        <Section title="Review notes">
          <p className="prose">{reviewNotes}</p>
        </Section>
      )}
      {warnings.length > 0 && (
        <Section title="Warnings">
          <ul>
            {warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </Section>
      )}
      <Screenshots submission={submission} />
      {confirmed && status === 'needs-changes' && <Revise submission={submission} />}
    </>
  )
}

const Revise = ({ submission: { id } }: Shown) => (
  <Section title="Send it again">
    <ContentForm
      hint="The content of the submission with the requested changes. It is reviewed again."
      submit="Send again"
      send={async (body) => {
        await api.vendor.reviseSubmission({ params: { id }, body })
        await refresh()
      }}
    />
  </Section>
)

const Confirm = ({ submission: { id, name, version }, onClose }: Shown & Readonly<{ onClose(): void }>) => (
  <ActionDialog
    title={`Confirm ${name} ${version}?`}
    consequence={
      <p>Anyone can enter any address. If you sent this submission, confirm it: it joins your vendor, and you can add screenshots.</p>
    }
    confirm="This was me"
    run={async () => {
      await api.vendor.confirmSubmission({ params: { id } })
      await refresh()
    }}
    onClose={onClose}
  />
)
