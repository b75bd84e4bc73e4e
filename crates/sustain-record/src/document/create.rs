//! Makes the document of `sustain create --json`.

use sustain_document::create::{CREATE_SCHEMA, CreateDocument, NewMember};

use super::uuid_text;
use crate::format::Geometry;
use crate::recorder::{AppendSize, data_bytes, protected_data_bytes};
use crate::store::{Created, CreatedMember};

/// Makes the document of a store that was created or that members were added to, or that would be.
pub fn create_document(created: &Created, notes: &[String]) -> CreateDocument {
    let members: Vec<NewMember> = created.members.iter().map(new_member).collect();
    let geometries = created.members.iter().map(|member| member.geometry);
    let geometries: Vec<Geometry> = geometries.collect();
    let free = created.members.iter().map(|member| Geometry {
        slot_count: member.free_slots,
        ..member.geometry
    });
    let free: Vec<Geometry> = free.collect();
    CreateDocument {
        schema: CREATE_SCHEMA.to_owned(),
        store: created.store.map(uuid_text),
        slot_bytes: geometries.first().map_or(0, |geometry| geometry.slot_bytes),
        data_bytes: data_bytes_of(&geometries, created.parities),
        free_bytes: Some(data_bytes_of(&free, created.parities)),
        parity: created.parities,
        members,
        notes: notes.to_vec(),
    }
}

/// The data that one recording finds space for in all slots of members that are divided so.
fn data_bytes_of(geometries: &[Geometry], parities: u16) -> u64 {
    let append_bytes = AppendSize::USUAL_BYTES;
    match parities {
        0 => {
            let members = geometries.iter();
            members.map(|one| data_bytes(one, append_bytes)).sum()
        }
        parities => protected_data_bytes(geometries, append_bytes, parities),
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
        added: member.is_added,
    }
}
