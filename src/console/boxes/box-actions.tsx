import { useState } from 'react'
import type { BoxDetail } from '../../core/boxes/index.ts'
import { ActionDialog, api, Button, queryClient, quoted, useMay, usePaletteAction } from '../kit/index.ts'
import { LifecycleActions } from './lifecycle-actions.tsx'
import { useScan } from './use-scan.ts'
import { words } from './words.ts'

type Asked = 'scan' | 'check' | 'maintenance' | 'canary'

/** The buttons of a box, and the dialog of the one that was pressed. */
export function BoxActions({ box }: Readonly<{ box: BoxDetail }>) {
  const { slug, canary, maintenance } = box
  const [asked, setAsked] = useState<Asked>()
  const { start } = useScan()
  const may = {
    scan: useMay('boxes', 'scanBoxes').why,
    check: useMay('boxes', 'checkBox').why,
    maintenance: useMay('boxes', 'maintainBox').why,
    canary: useMay('boxes', 'changeBox').why,
  }
  const open = (what: Asked) => (may[what] ? undefined : () => setAsked(what))
  usePaletteAction({ scan: open('scan'), check: open('check'), maintenance: open('maintenance'), canary: open('canary') })
  const after = async (work: Promise<unknown>) => {
    await work
    await queryClient.invalidateQueries({ queryKey: ['boxes'] })
  }
  const dialogs = {
    scan: {
      ...{ title: words.scanTitle(1), consequence: words.scanEffect, confirm: words.scan },
      ...{ cli: () => `tenantry boxes scan ${slug}`, run: () => after(start([slug])) },
    },
    check: {
      ...{ title: words.checkTitle(slug), consequence: words.checkEffect, confirm: words.check },
      ...{ cli: () => `tenantry boxes check ${slug}`, run: () => after(api.boxes.checkBox({ params: { slug } })) },
    },
    maintenance: {
      title: maintenance ? words.leaveTitle(slug) : words.enterTitle(slug),
      consequence: maintenance ? words.leaveEffect : words.enterEffect,
      confirm: maintenance ? 'End maintenance' : 'Enter maintenance',
      reason: 'required' as const,
      danger: !maintenance,
      cli: ({ reason }: { reason: string }) =>
        `tenantry boxes maintenance ${maintenance ? 'off' : 'on'} ${slug} --reason ${quoted(reason)}`,
      run: ({ reason }: { reason: string }) => after(api.boxes.maintainBox({ params: { slug }, body: { on: !maintenance, reason } })),
    },
    canary: {
      title: words.canaryTitle(slug, !canary),
      consequence: words.canaryEffect(!canary),
      confirm: canary ? 'Make ordinary' : 'Make canary',
      cli: () => `tenantry boxes canary ${canary ? 'off' : 'on'} ${slug}`,
      run: () => after(api.boxes.changeBox({ params: { slug }, body: { canary: !canary } })),
    },
  }
  return (
    <>
      <Button why={may.scan} onPress={() => setAsked('scan')}>
        {words.scan}
      </Button>
      <Button why={may.check} onPress={() => setAsked('check')}>
        {words.check}
      </Button>
      <Button why={may.canary} onPress={() => setAsked('canary')}>
        {canary ? words.unmarkCanary : words.markCanary}
      </Button>
      <Button why={may.maintenance} onPress={() => setAsked('maintenance')}>
        {maintenance ? words.leave : words.enter}
      </Button>
      <LifecycleActions box={box} />
      {asked && <ActionDialog {...dialogs[asked]} consequence={<p>{dialogs[asked].consequence}</p>} onClose={() => setAsked(undefined)} />}
    </>
  )
}
