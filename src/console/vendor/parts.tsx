import { useState } from 'react'
import { problem } from '../../core/kit/index.ts'
import type { SubmissionContent, VendorItem, VendorSubmission } from '../../core/marketplace/index.ts'
import { moneyText } from '../../core/payments/index.ts'
import { FileField, Sheet, Status, type Tone, useAttempt } from '../kit/index.ts'

const itemTones = { published: 'ok', draft: 'waiting', archived: 'off' } as const satisfies Record<VendorItem['status'], Tone>

export const ItemStatus = ({ item: { status, withdrawnAt } }: Readonly<{ item: VendorItem }>) => (
  <Status tone={itemTones[status]}>{withdrawnAt === null ? status : 'withdrawn'}</Status>
)

const submissionTones = {
  ...{ pending: 'waiting', 'needs-changes': 'warning', approved: 'ok', rejected: 'off' },
} as const satisfies Record<VendorSubmission['status'], Tone>

export const SubmissionStatus = ({ submission: { status, confirmed } }: Readonly<{ submission: VendorSubmission }>) => (
  <Status tone={confirmed ? submissionTones[status] : 'warning'}>
    {status.replace('-', ' ')}
    {!confirmed && ', not confirmed'}
  </Status>
)

/** `4.90 EUR a month`. */
export function priceText({ priceModel, priceCents, currency }: Pick<VendorItem, 'priceModel' | 'priceCents' | 'currency'>): string {
  if (priceModel === null || priceCents === null || currency === null) return 'free'
  return `${moneyText({ cents: priceCents, currency })} ${priceModel === 'flat-monthly' ? 'a month' : 'a month per active user'}`
}

type ContentFormProps = Readonly<{ hint: string; submit: string; send(content: SubmissionContent): Promise<unknown> }>

/** Sends the content of a submission from a JSON file; the daemon checks it. */
export function ContentForm({ hint, submit, send }: ContentFormProps) {
  const [file, setFile] = useState<File>()
  const { busy, error, attempt } = useAttempt()
  const read = () =>
    attempt(async () => {
      if (file) await send(contentOf(file.name, await file.text()))
    })
  return (
    <div className="narrow-form">
      <Sheet hint={hint} onSubmit={read} submit={submit} busy={busy || !file} error={error}>
        <FileField label="JSON file" accept=".json,application/json" onChange={setFile} />
      </Sheet>
    </div>
  )
}

function contentOf(name: string, text: string): SubmissionContent {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw problem('VALIDATION', `${name} is not JSON. fix: choose a file with the content of a submission`, { cause })
  }
}
