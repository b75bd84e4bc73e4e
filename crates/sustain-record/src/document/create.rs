//! Makes the document of `sustain create --json`.

use sustain_document::create::{CREATE_SCHEMA, CreateDocument, NewMember};

use super::uuid_text;
use crate::format::Geometry;
use crate::recorder::{AppendSize, data_bytes, protected_data_bytes};
use crate::store::{Created, CreatedMember};

/// Makes the document of a store that was created, or that would be created.
pub fn create_document(created: &Created, slot_bytes: u32, notes: &[String]) -> CreateDocument {
    let members: Vec<NewMember> = created.members.iter().map(new_member).collect();
    CreateDocument {
        schema: CREATE_SCHEMA.to_owned(),
        store: created.store.map(uuid_text),
        slot_bytes,
        data_bytes: match created.parities {
            0 => members.iter().map(|member| member.data_bytes).sum(),
            parities => {
                let geometries = created.members.iter().map(|member| member.geometry);
                let geometries: Vec<Geometry> = geometries.collect();
                protected_data_bytes(&geometries, AppendSize::USUAL_BYTES, parities)
            }
        },
        parity: created.parities,
        members,
        notes: notes.to_vec(),
    }
}

fn new_member(member: &CreatedMember) -> NewMember {
    let geometry = &member.geometry;
    NewMember {
        name: member.name.clone(),
        path: member.path.as_ref().map(|path| path.display().to_string()),
        bytes: geometry.member_bytes,
        slots: geometry.slot_count,
        room_bytes: geometry.slot_count * u64::from(geometry.slot_bytes),
        data_bytes: data_bytes(geometry, AppendSize::USUAL_BYTES),
        new: member.is_new,
    }
}
