import { useState } from 'react'
import type { VendorSubmissionDetail } from '../../core/marketplace/index.ts'
import { ActionDialog, api, Button, FileField, Picture, Section, Sheet, useAttempt } from '../kit/index.ts'
import { refresh } from './queries.ts'

type Shown = Readonly<{ submission: VendorSubmissionDetail }>

/** They are added and deleted until the submission is decided. */
export function Screenshots({ submission }: Shown) {
  const { id, screenshots, confirmed, status } = submission
  const [deleted, setDeleted] = useState<string>()
  const isChangeable = confirmed && (status === 'pending' || status === 'needs-changes')
  return (
    <Section title="Screenshots">
      {screenshots.length === 0 && <p>None</p>}
      <div className="screenshots">
        {screenshots.map(({ id: screenshotId, width, height }, at) => (
          <figure key={screenshotId}>
            <Picture
              {...{ id: screenshotId, width, height }}
              alt={`Screenshot ${at + 1}, ${width} x ${height} pixels`}
              read={() => api.vendor.readOwnScreenshot({ params: { id: screenshotId } })}
            />
            {isChangeable && (
              <figcaption>
                <Button look="quiet" onPress={() => setDeleted(screenshotId)}>
                  Delete screenshot {at + 1}…
                </Button>
              </figcaption>
            )}
          </figure>
        ))}
      </div>
      {isChangeable && <Add key={screenshots.length} id={id} />}
      {deleted !== undefined && (
        <ActionDialog
          title="Delete this screenshot?"
          consequence={<p>The picture is deleted. The submission is reviewed without it.</p>}
          confirm="Delete"
          danger
          run={async () => {
            await api.vendor.deleteScreenshot({ params: { id, screenshotId: deleted } })
            await refresh()
          }}
          onClose={() => setDeleted(undefined)}
        />
      )}
    </Section>
  )
}

function Add({ id }: Readonly<{ id: string }>) {
  const [file, setFile] = useState<File>()
  const { busy, error, attempt } = useAttempt()
  const add = () =>
    attempt(async () => {
      if (!file) return
      await api.vendor.addScreenshot({ params: { id }, upload: { content: file, fileName: file.name } })
      await refresh()
    })
  return (
    <div className="narrow-form">
      <Sheet
        hint="A PNG, JPEG or WebP of at most 1 MB, with 100 to 4096 pixels on each side. At most 6."
        onSubmit={add}
        submit="Add screenshot"
        busy={busy || !file}
        error={error}
      >
        <FileField label="Picture" accept="image/png,image/jpeg,image/webp" onChange={setFile} />
      </Sheet>
    </div>
  )
}
