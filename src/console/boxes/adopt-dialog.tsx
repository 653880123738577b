import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Plan } from '../../core/boxes/index.ts'
import { ActionDialog, api, Choices, Field, queryClient } from '../kit/index.ts'
import { type AdoptTexts, adoptCommand } from './commands.ts'
import { HostChoice } from './host-choice.tsx'
import { words } from './words.ts'

const texts = ['slug', 'folder', 'project', 'name', 'chatDomain', 'publicUrl'] as const satisfies readonly (keyof AdoptTexts)[]
const placeholders: AdoptTexts = {
  ...{ slug: 'anna-schule', folder: '/srv/anna-schule', project: 'anna-schule', name: 'Anna-Schule' },
  ...{ chatDomain: 'chat.anna-schule.example', publicUrl: '' },
}
const none: AdoptTexts = { slug: '', folder: '', project: '', name: '', chatDomain: '', publicUrl: '' }
const plans = ['light', 'pro', 'dedicated'] as const satisfies readonly Plan[]

/** Asks what `tenantry boxes adopt` asks, and opens the page of the box. */
export function AdoptDialog({ onClose }: Readonly<{ onClose(): void }>) {
  const navigate = useNavigate()
  const [fields, setFields] = useState(none)
  const [host, setHost] = useState<string>()
  const [plan, setPlan] = useState<Plan>('light')
  const { publicUrl, ...required } = fields
  return (
    <ActionDialog
      title={words.adoptTitle}
      consequence={<p>{words.adoptEffect}</p>}
      confirm={words.adoptConfirm}
      isComplete={host !== undefined && Object.values(required).every((text) => text.trim() !== '')}
      cli={() => adoptCommand({ ...fields, host, plan })}
      run={async () => {
        if (host === undefined) return
        await api.boxes.adoptBox({ body: { ...required, host, plan, ...(publicUrl ? { publicUrl } : {}) } })
        await queryClient.invalidateQueries({ queryKey: ['boxes'] })
        void navigate({ to: `/boxes/${fields.slug}` })
      }}
      onClose={onClose}
    >
      {texts.map((name, place) => (
        <Field
          key={name}
          label={words.adoptFields[name]}
          placeholder={placeholders[name]}
          value={fields[name]}
          onChange={(text) => setFields((before) => ({ ...before, [name]: text }))}
          autoFocus={place === 0}
        />
      ))}
      <Choices
        label={words.plan}
        value={plan}
        onChange={(value) => setPlan(value as Plan)}
        choices={plans.map((value) => ({ value, label: value }))}
      />
      <HostChoice label={words.host} value={host} onChange={setHost} />
    </ActionDialog>
  )
}
