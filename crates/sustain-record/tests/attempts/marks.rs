//! Tries any bytes as frame marks behind the time of the first byte.

use sustain_record::format::{MARK_BYTES_MAX, MarkReader, MarksWriter, PayloadMark};

/// Panics unless the answer is marks in order and at most one error.
pub fn attempt(bytes: &[u8]) {
    let Some((time, bytes)) = bytes.split_first_chunk() else {
        return;
    };
    let first_time_ns = i64::from_le_bytes(*time);
    let answers: Vec<_> = MarkReader::new(bytes, first_time_ns).collect();
    let marks: Vec<PayloadMark> = answers.iter().copied().map_while(Result::ok).collect();
    assert!(answers.len() <= marks.len() + 1);
    assert!(marks.is_sorted_by_key(|mark| mark.offset_bytes));

    let mut writer = MarksWriter::new();
    for mark in &marks {
        let before_bytes = writer.len_bytes();
        writer.push(*mark, first_time_ns);
        assert!(writer.len_bytes() - before_bytes <= MARK_BYTES_MAX);
    }
    assert!(writer.len_bytes() <= bytes.len());
    let again: Result<Vec<PayloadMark>, _> =
        MarkReader::new(writer.bytes(), first_time_ns).collect();
    assert_eq!(again, Ok(marks));
}
